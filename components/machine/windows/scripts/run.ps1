# The stage runner: runs the waves of stages in order until the node is Ready, again after each failure and each reboot.
param(
    # Run only the waves up to the one that may ask for a restart, with few attempts, and report the exit code, instead
    # of continuing to Ready.
    [switch] $FirstWave
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/report.ps1"

# Starts each stage in a separate process, waits for all, and returns the exit codes by name. One that exceeds its time
# limit (a call of HNS, the servicing stack) is killed and counts as failed: the next attempt does the rest.
function Invoke-Wave {
    param([object[]] $Stages)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $running = @{}
    $codes = @{}
    foreach ($stage in $Stages) {
        $running[$stage.name] = Start-StageProcess $stage.name
    }
    foreach ($stage in $Stages) {
        $name = $stage.name
        $left = [int] [Math]::Max(0, 1000 * $stage.limitSeconds - $watch.ElapsedMilliseconds)
        if ($running[$name].WaitForExit($left)) {
            $codes[$name] = $running[$name].ExitCode
        }
        else {
            Write-Log "stage $name has not ended within $($stage.limitSeconds) s"
            Stop-Tree $running[$name]
            $codes[$name] = $stage.exitCode
        }
    }
    $codes
}

function Start-StageProcess {
    param([string] $Name)
    $arguments = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File `"$PSScriptRoot\stage.ps1`" -Name $Name"
    $process = Start-Process -FilePath 'powershell.exe' -ArgumentList $arguments -PassThru -WindowStyle Hidden
    # .NET loses the exit code unless the handle is read first.
    $process.Handle | Out-Null
    $process
}

# Runs what is due of a wave, under the lock of the run: the next boot's task must not overlap with the extension's run,
# nor may the health task start services that a stage holds. But where pods may run nothing keeps it from its repairs.
function Invoke-Locked {
    param($Machine, [object[]] $Due, [string] $State)
    $outcome = @{}
    $command = { $outcome.codes = Invoke-Wave $Due }
    if (@($Due | Where-Object { (Get-Leave $_ $State).alone }).Count -eq 0) {
        & $command
    }
    elseif (-not (Invoke-Alone 'run' (1000 * $Machine.retry.lockSeconds) $command)) {
        Write-Notice "the health task, or another run, has held the lock for $($Machine.retry.lockSeconds) s; going on without it" 'Warning'
        & $command
    }
    $outcome.codes
}

# Runs the waves until one fails or requests a reboot, with -First no further than that which may request one. 0 done,
# 3010 reboot, else the exit code of the failed stage.
function Invoke-Waves {
    param($Machine, [object[]] $Waves, [switch] $First)
    $boot = Get-BootId
    foreach ($wave in $Waves) {
        $stages = @($Machine.stages | Where-Object { @($wave) -contains $_.name })
        $due = @($stages | Where-Object { -not (Test-StageDone $Machine $_ $boot) })
        $codes = @{}
        if ($due.Count -gt 0) {
            $state = Get-NodeState $Machine
            $due = @($due | Where-Object { (Get-Leave $_ $state).runs })
            $codes = Invoke-Locked $Machine $due $state
        }
        foreach ($stage in $due) {
            if (0, 3010 -notcontains $codes[$stage.name]) {
                Write-Notice "stage $($stage.name) failed with exit code $($codes[$stage.name])" 'Error'
                # That it is recorded is no proof that what an earlier stage made is whole.
                Clear-Stages $Machine (Get-Leave $stage (Get-NodeState $Machine)).again
                return $codes[$stage.name]
            }
        }
        if ($codes.Values -contains 3010) {
            return 3010
        }
        if ($First -and @($stages | Where-Object { $_.reboots }).Count -gt 0) {
            break
        }
    }
    0
}

# Counts a reboot by the boot that wants it: one that was refused, or does not come, is asked for again. False when the
# limit is reached: then something requests one for ever.
function Add-Reboot {
    param($Machine)
    $file = "$($Machine.paths.state)/reboots"
    $boots = @((Read-Text $file) -split "`n" -ne '')
    $boot = Get-BootId
    if ($boots -notcontains $boot) {
        if ($boots.Count -ge $Machine.reboots.allowed) {
            return $false
        }
        Write-Text $file (($boots + $boot) -join "`n")
    }
    $true
}

# Seconds to wait before an attempt, counted from 0: growing, then level, with random jitter so that a pool does not
# retry in step.
function Get-Pause {
    param($Machine, [int] $Attempt)
    $pauses = @($Machine.retry.pauseSeconds)
    $base = $pauses[[Math]::Min($Attempt, $pauses.Count - 1)]
    $base + (Get-Random -Minimum 0 -Maximum ([int] ($base * $Machine.retry.jitter) + 1))
}

# Without a byte free no record is written, and no kubelet starts that would take images away: where not one more log
# has room, what nobody needs goes.
function Clear-Room {
    param($Machine)
    try {
        $free = (New-Object IO.DriveInfo $PSScriptRoot).AvailableFreeSpace
        if ("$free" -and $free -lt $Machine.watch.logBytes) {
            Write-Notice "the disk has $free bytes left; copies of logs, dumps and archives go" 'Warning'
            Get-ChildItem -File -Path "$($Machine.paths.logs)/*.1", "$($Machine.paths.dumps)/*", "$($Machine.paths.downloads)/*" -ErrorAction SilentlyContinue | Remove-Item -Force -ErrorAction SilentlyContinue
        }
    }
    catch {
        Write-Log "room on the disk: $_"
    }
}

# One attempt: access rights first, so that nothing is downloaded or written to a folder that others may change or read.
function Invoke-Attempt {
    param($Machine, [switch] $First)
    Clear-Room $Machine
    try {
        foreach ($path in $Machine.protected) {
            Protect-Folder $path
        }
    }
    catch {
        Write-Notice "$_" 'Error'
        return $Machine.exitCodes.accessRights
    }
    # The scheduler does not restart a task whose program exited by itself: an error here must not end the run.
    try {
        $code = Invoke-Waves $Machine $Machine.waves -First:$First
        if ($code -eq 3010 -and -not (Add-Reboot $Machine)) {
            Write-Notice "a stage asks for a reboot after $($Machine.reboots.allowed) of them" 'Error'
            return $Machine.exitCodes.rebootLoop
        }
        $code
    }
    catch {
        Write-Log "run: $_"
        1
    }
}

function Invoke-Run {
    param($Machine, [switch] $FirstWave)
    for ($attempt = 0; $true; $attempt += 1) {
        $code = Invoke-Attempt $Machine -First:$FirstWave
        # While the extension runs, its exit code reports the result, and its status file is not ours to change.
        if (-not $FirstWave) {
            Set-Report $Machine $code
        }
        if ($code -eq 0 -or $code -eq 3010 -or ($FirstWave -and $attempt + 1 -ge $Machine.retry.foregroundAttempts)) {
            return $code
        }
        $pause = Get-Pause $Machine $attempt
        Write-Log "attempt $attempt failed, next in $pause s"
        Start-Sleep -Seconds $pause
    }
}

# Dot-sourced by the tests, which define their own machine.
if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'run'
Initialize-Web
$watch = [Diagnostics.Stopwatch]::StartNew()
Write-Log "run: start in boot $(Get-BootId)"
$code = Invoke-Run $machine -FirstWave:$FirstWave
Write-Log "run: ended with $code after $([int] $watch.Elapsed.TotalSeconds) s"
if (-not $FirstWave) {
    if ($code -eq 0) {
        & "$PSScriptRoot/prepull.ps1"
    }
    # What stages have left for later.
    while ($code -eq 0 -and @(Get-Due $machine (Get-BootId) (Get-NodeState $machine)).Count -gt 0) {
        Start-Sleep -Seconds @($machine.retry.pauseSeconds)[-1]
        $code = Invoke-Run $machine
    }
    if ($code -eq 3010) {
        Write-Notice 'restarting to finish the installation of features'
        Restart-Machine
    }
}
exit $code
