# The stage runner: runs the waves of stages in order until the node is Ready, again after each failure and each reboot.
param(
    # Run only the first wave, with few attempts, and report its exit code, instead of continuing to Ready.
    [switch] $FirstWave
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/report.ps1"

# Starts every stage of a wave in a separate process, waits for all, and returns the exit codes by name. One that exceeds its time limit (a call
# of HNS, the servicing stack) is killed and counts as failed: the next attempt does the rest.
function Invoke-Wave {
    param(
        [object] $Machine,
        [string[]] $Names
    )
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $running = @{}
    foreach ($name in $Names) {
        $running[$name] = Start-StageProcess $name
    }
    $codes = @{}
    foreach ($name in $Names) {
        $stage = $Machine.stages | Where-Object { $_.name -eq $name }
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

# Kills a process and all its descendants.
function Stop-Tree {
    param(
        [object] $Process
    )
    try {
        Invoke-Program 'taskkill.exe' @('/PID', "$($Process.Id)", '/T', '/F') | Out-Null
        $Process.WaitForExit(10000) | Out-Null
    }
    catch {
        Write-Log "not ended: $_"
    }
}

function Start-StageProcess {
    param(
        [string] $Name
    )
    $arguments = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File `"$PSScriptRoot\stage.ps1`" -Name $Name"
    $process = Start-Process -FilePath 'powershell.exe' -ArgumentList $arguments -PassThru -WindowStyle Hidden
    # .NET loses the exit code unless the handle is read first.
    $process.Handle | Out-Null
    $process
}

# Runs the waves until one fails or requests a reboot. 0 done, 3010 reboot, else the exit code of the failed stage.
function Invoke-Waves {
    param(
        [object] $Machine,
        [object[]] $Waves
    )
    foreach ($wave in $Waves) {
        $codes = Invoke-Wave $Machine @($wave)
        foreach ($name in @($wave)) {
            if (0, 3010 -notcontains $codes[$name]) {
                Write-Notice "stage $name failed with exit code $($codes[$name])" 'Error'
                return $codes[$name]
            }
        }
        if ($codes.Values -contains 3010) {
            return 3010
        }
    }
    0
}

# Counts a reboot. False when the limit is reached: then something requests one for ever.
function Add-Reboot {
    param(
        [object] $Machine
    )
    $file = "$($Machine.paths.state)/reboots"
    $count = 0
    if (Test-Path -LiteralPath $file) {
        $count = [int] (Get-Content -Raw -LiteralPath $file)
    }
    if ($count -ge $Machine.reboots.allowed) {
        return $false
    }
    Write-Text $file "$($count + 1)"
    $true
}

# Seconds to wait before an attempt, counted from 0: growing, then level, with random jitter so that a pool does not retry in step.
function Get-Pause {
    param(
        [object] $Machine,
        [int] $Attempt
    )
    $pauses = @($Machine.retry.pauseSeconds)
    $base = $pauses[[Math]::Min($Attempt, $pauses.Count - 1)]
    $base + (Get-Random -Minimum 0 -Maximum ([int] ($base * $Machine.retry.jitter) + 1))
}

# One attempt: access rights first, so that nothing is downloaded or written to a folder that others may change or read.
function Invoke-Attempt {
    param(
        [object] $Machine,
        [object[]] $Waves
    )
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
        Invoke-Waves $Machine $Waves
    }
    catch {
        Write-Log "run: $_"
        1
    }
}

function Invoke-Run {
    param(
        [object] $Machine,
        [switch] $FirstWave
    )
    $waves = @($Machine.waves)
    if ($FirstWave) {
        $waves = @(, $waves[0])
    }
    $attempt = 0
    while ($true) {
        $code = Invoke-Attempt $Machine $waves
        if ($code -eq 3010 -and -not (Add-Reboot $Machine)) {
            Write-Notice "a stage asks for a reboot after $($Machine.reboots.allowed) of them" 'Error'
            $code = $Machine.exitCodes.rebootLoop
        }
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
        $attempt += 1
    }
}

# Dot-sourced by the tests, which define their own machine.
if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'run'
$outcome = @{ code = 1 }
# The next boot's task must not overlap with the extension's run, nor may the health task start services that a stage holds.
Invoke-Alone 'run' -1 { $outcome.code = Invoke-Run $machine -FirstWave:$FirstWave } | Out-Null
$code = $outcome.code
if (-not $FirstWave) {
    if ($code -eq 3010) {
        Write-Notice 'restarting to finish the installation of features'
        Restart-Computer -Force
    }
    else {
        & "$PSScriptRoot/prepull.ps1"
    }
}
exit $code
