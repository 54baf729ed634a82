# The stage machine: runs the waves of stages in order until the node is Ready, again after each failure and each reboot.
param(
    # Run the first wave only, with few attempts, and report its exit code, instead of carrying on to Ready.
    [switch] $FirstWave
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"

# Starts every stage of a wave in a process of its own, waits for all, and gives the exit codes by name.
function Invoke-Wave {
    param(
        [object] $Machine,
        [string[]] $Names
    )
    $running = @{}
    foreach ($name in $Names) {
        $running[$name] = Start-StageProcess $name
    }
    $codes = @{}
    foreach ($name in $Names) {
        $running[$name].WaitForExit()
        $codes[$name] = $running[$name].ExitCode
    }
    $codes
}

function Start-StageProcess {
    param(
        [string] $Name
    )
    $arguments = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File `"$PSScriptRoot\stage.ps1`" -Name $Name"
    $process = Start-Process -FilePath 'powershell.exe' -ArgumentList $arguments -PassThru -WindowStyle Hidden
    # Without the handle in hand, .NET forgets the exit code.
    $process.Handle | Out-Null
    $process
}

# Runs the waves until one fails or asks for a reboot. 0 done, 3010 reboot, else the exit code of the stage that failed.
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

# Counts a reboot. False when the machine has had its share: then something asks for one for ever.
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

# Seconds to wait before an attempt, counted from 0: growing, then level, with a share of chance so that a pool does not retry in step.
function Get-Pause {
    param(
        [object] $Machine,
        [int] $Attempt
    )
    $pauses = @($Machine.retry.pauseSeconds)
    $base = $pauses[[Math]::Min($Attempt, $pauses.Count - 1)]
    $base + (Get-Random -Minimum 0 -Maximum ([int] ($base * $Machine.retry.jitter) + 1))
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
        # The scheduler does not repeat a task whose program ended by itself: an error here must not end the run.
        try {
            $code = Invoke-Waves $Machine $waves
        }
        catch {
            Write-Log "run: $_"
            $code = 1
        }
        if ($code -eq 3010 -and -not (Add-Reboot $Machine)) {
            Write-Notice "a stage asks for a reboot after $($Machine.reboots.allowed) of them" 'Error'
            $code = $Machine.exitCodes.rebootLoop
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

# Dot-sourced by the tests, which bring their own machine.
if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'run'
# The task of the next boot must not meet the run of the extension.
$mutex = New-Object Threading.Mutex $false, 'Global\fenestra-run'
try {
    $mutex.WaitOne() | Out-Null
}
catch [Threading.AbandonedMutexException] {
    Write-Log 'the run before this one was cut off'
}
$code = Invoke-Run $machine -FirstWave:$FirstWave
$mutex.ReleaseMutex()
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
