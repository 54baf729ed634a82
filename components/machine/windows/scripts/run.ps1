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
. "$PSScriptRoot/joined.ps1"

# Starts every stage of a wave that is not done in a separate process, waits for all, and returns the exit codes by
# name. One that exceeds its time limit (a call of HNS, the servicing stack) is killed and counts as failed: the next
# attempt does the rest.
function Invoke-Wave {
    param([object] $Machine, [string[]] $Names)
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $running = @{}
    $codes = @{}
    $boot = Get-BootId
    $wanted = @($Machine.stages | Where-Object { $Names -contains $_.name })
    foreach ($stage in $wanted) {
        $codes[$stage.name] = 0
        if (-not (Test-StageDone $Machine $stage $boot)) {
            $running[$stage.name] = Start-StageProcess $stage.name
        }
    }
    foreach ($stage in @($wanted | Where-Object { $running.ContainsKey($_.name) })) {
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

# Runs the waves until one fails or requests a reboot. 0 done, 3010 reboot, else the exit code of the failed stage.
function Invoke-Waves {
    param([object] $Machine, [object[]] $Waves)
    foreach ($wave in $Waves) {
        $codes = Invoke-Wave $Machine @($wave)
        foreach ($name in @($wave)) {
            if (0, 3010 -notcontains $codes[$name]) {
                Write-Notice "stage $name failed with exit code $($codes[$name])" 'Error'
                # That it is recorded is no proof that what an earlier stage made is whole.
                Clear-Stages $Machine ($Machine.stages | Where-Object { $_.name -eq $name }).sendsBack
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
    param([object] $Machine)
    $file = "$($Machine.paths.state)/reboots"
    $count = 0
    [int]::TryParse((Read-Text $file), [ref] $count) | Out-Null
    if ($count -ge $Machine.reboots.allowed) {
        return $false
    }
    Write-Text $file "$($count + 1)"
    $true
}

# Seconds to wait before an attempt, counted from 0: growing, then level, with random jitter so that a pool does not
# retry in step.
function Get-Pause {
    param([object] $Machine, [int] $Attempt)
    $pauses = @($Machine.retry.pauseSeconds)
    $base = $pauses[[Math]::Min($Attempt, $pauses.Count - 1)]
    $base + (Get-Random -Minimum 0 -Maximum ([int] ($base * $Machine.retry.jitter) + 1))
}

# Writes records again that are torn while the node is Ready in this boot: their stages would stop the services and clear
# the network under its pods.
function Repair-Records {
    param([object] $Machine, [string] $BootId)
    $torn = @($Machine.stages | Where-Object { (Test-Path -LiteralPath "$($Machine.paths.state)/$($_.name).json") -and -not (Read-Data "$($Machine.paths.state)/$($_.name).json") })
    # Only a stage of this boot has started the kubelet.
    if ($torn.Count -eq 0 -or "$((Get-Service -Name kubelet -ErrorAction SilentlyContinue).Status)" -ne 'Running') {
        return
    }
    if (Test-NodeReady $Machine "$((Read-Data $Machine.paths.node).name)") {
        Write-Notice "records cannot be read, and the node is Ready: $($torn.name -join ', ')" 'Warning'
        foreach ($stage in $torn) {
            Set-StageDone $Machine $stage $BootId
        }
    }
}

# One attempt: access rights first, so that nothing is downloaded or written to a folder that others may change or read.
function Invoke-Attempt {
    param([object] $Machine, [object[]] $Waves)
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
        Repair-Records $Machine (Get-BootId)
        $code = Invoke-Waves $Machine $Waves
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
    param([object] $Machine, [switch] $FirstWave)
    $waves = @($Machine.waves | Where-Object { $_ -notcontains 'after' })
    if ($FirstWave) {
        $asking = @($Machine.stages | Where-Object { $_.reboots } | ForEach-Object { $_.name })
        $last = 0
        for ($index = $waves.Count - 1; $index -gt 0; $index -= 1) {
            if (@($waves[$index] | Where-Object { $asking -contains $_ }).Count -gt 0) {
                $last = $index
            }
        }
        $waves = @($waves[0..$last])
    }
    $outcome = @{ code = 1 }
    $attempt = 0
    while ($true) {
        # The next boot's task must not overlap with the extension's run, nor may the health task start services that a
        # stage holds. What the user wants done on a Ready node, and the pauses, are nobody's business.
        if (-not (Invoke-Alone 'run' (1000 * $Machine.retry.lockSeconds) { $outcome.code = Invoke-Attempt $Machine $waves })) {
            Write-Notice "the health task, or another run, has held the lock for $($Machine.retry.lockSeconds) s; going on without it" 'Warning'
            $outcome.code = Invoke-Attempt $Machine $waves
        }
        $code = $outcome.code
        if ($code -eq 0 -and -not $FirstWave -and @($Machine.stages | Where-Object { $_.name -eq 'after' }).Count -gt 0) {
            $code = Invoke-Attempt $Machine @(, @('after'))
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

# Logins that a boot has kept because their store refused: asked for again until it answers.
function Update-Logins {
    param([object] $Machine)
    $stage = $Machine.stages | Where-Object { $_.name -eq 'credentials' }
    while ($stage -and (Read-Data "$($Machine.paths.state)/credentials.json").kept) {
        Start-Sleep -Seconds @($Machine.retry.pauseSeconds)[-1]
        Invoke-Alone 'run' 0 {
            # As if of another boot.
            Set-StageDone $Machine $stage ''
            Invoke-Wave $Machine @('credentials')
        } | Out-Null
    }
}

# Dot-sourced by the tests, which define their own machine.
if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'run'
$watch = [Diagnostics.Stopwatch]::StartNew()
Write-Log "run: start in boot $(Get-BootId)"
$code = Invoke-Run $machine -FirstWave:$FirstWave
Write-Log "run: ended with $code after $([int] $watch.Elapsed.TotalSeconds) s"
if (-not $FirstWave) {
    if ($code -eq 3010) {
        Write-Notice 'restarting to finish the installation of features'
        Restart-Machine
    }
    else {
        & "$PSScriptRoot/prepull.ps1"
        Update-Logins $machine
    }
}
exit $code
