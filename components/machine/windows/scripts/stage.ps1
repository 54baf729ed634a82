# Runs one stage: skips it when done, logs its duration, records its state, exits with its own code.
param([string] $Name)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"

# 0 done or left for later, 3010 done but for a reboot, or to be done again after it, else the stage's own code.
function Invoke-Stage {
    param($Machine, $Stage, [string] $BootId)
    if (Test-StageDone $Machine $Stage $BootId) {
        Write-Log "stage $($Stage.name): nothing to do"
        return 0
    }
    $record = Read-Data "$($Machine.paths.state)/$($Stage.name).json"
    if ($record.reboot -eq $BootId -and $record.hash -eq $Stage.hash) {
        Write-Log "stage $($Stage.name): still needs its reboot"
        return 3010
    }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    if (Test-Baked $Machine $Stage) {
        Set-StageDone $Machine $Stage $BootId
        Write-Log "stage $($Stage.name): the image has done it, seen in $($watch.Elapsed.TotalSeconds) s"
        return 0
    }
    Write-Log "stage $($Stage.name): start"
    try {
        $leave = Get-Leave $Stage $(if (-not (Get-Leave $Stage 'up').runs) { Get-NodeState $Machine })
        if (-not $leave.runs) {
            Write-Notice "stage $($Stage.name) is not done, and pods may run: it waits for the next boot" 'Warning'
            return 0
        }
        # An empty one would end as if it had done its work.
        Read-Text "$PSScriptRoot/$($Stage.script)" -Needed | Out-Null
        Stop-NodeService $leave.stops
        # As text: PowerShell considers 'reboot' equal to a $true that a stage returned by accident.
        $result = @(& "$PSScriptRoot/$($Stage.script)" -Machine $Machine | ForEach-Object { "$_" })
        if ($result -contains 'reboot' -or $result -contains 'again') {
            if ($result -notcontains 'again') {
                Set-StageDone $Machine $Stage $BootId -Reboot
            }
            Write-Log "stage $($Stage.name): needs a reboot after $($watch.Elapsed.TotalSeconds) s"
            return 3010
        }
        if ($result -contains 'later') {
            Write-Log "stage $($Stage.name): left for later after $($watch.Elapsed.TotalSeconds) s"
            return 0
        }
        Set-StageDone $Machine $Stage $BootId
        Write-Log "stage $($Stage.name): done in $($watch.Elapsed.TotalSeconds) s"
        return 0
    }
    catch {
        # Of a service that does not start, the outer error hides Windows' own reason.
        Write-Log "stage $($Stage.name): failed after $($watch.Elapsed.TotalSeconds) s: $_ ($($_.Exception.GetBaseException().Message))"
        Write-Log $_.ScriptStackTrace
        return $Stage.exitCode
    }
}

# Runs a script of the user, whose output goes to a file of its own: what the script leaves running would hold a pipe
# open for ever.
function Invoke-OwnScript {
    param($Machine, [string] $Path, [int] $Seconds = 1500)
    $log = "$($Machine.paths.logs)/own-$([IO.Path]::GetFileNameWithoutExtension($Path))"
    $arguments = "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File $(Format-Argument $Path)"
    $process = Start-Process -FilePath 'powershell.exe' -ArgumentList $arguments -PassThru -NoNewWindow -RedirectStandardOutput "$log.log" -RedirectStandardError "$log.err.log"
    # .NET loses the exit code unless the handle is read first.
    $process.Handle | Out-Null
    if (-not $process.WaitForExit(1000 * $Seconds)) {
        Stop-Tree $process
        throw "$Path has not ended within $Seconds s"
    }
    Write-Log "$Path ended with $($process.ExitCode); its output is in $log.log"
    if ($process.ExitCode -ne 0) {
        throw "$Path ended with $($process.ExitCode): $(Read-Text "$log.err.log")"
    }
}

# Ends this process, with all that it has started, after its limit, at which its run would have: one whose run has died
# would hang for ever, and no other could do its stage.
function Start-Guard {
    param([int] $Seconds)
    $guard = [PowerShell]::Create().AddScript({
        param([string] $Files, [int] $Seconds)
        Start-Sleep -Seconds $Seconds
        . $Files
        Stop-Tree (Get-Process -Id $PID)
        Stop-Process -Force -Id $PID
    })
    $guard.AddArgument("$PSScriptRoot/lib.ps1").AddArgument($Seconds).BeginInvoke() | Out-Null
    $guard
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine "stage-$Name"
Initialize-Web
$stage = $machine.stages | Where-Object { $_.name -eq $Name }
$outcome = @{ code = $stage.exitCode }
$guard = Start-Guard (1.1 * $stage.limitSeconds)
try {
    # One of a run that was cut off may still be at work.
    Invoke-Alone "stage-$Name" (1000 * $stage.limitSeconds) { $outcome.code = Invoke-Stage $machine $stage (Get-BootId) } | Out-Null
}
finally {
    # `exit` waits for it.
    $guard.Stop()
}
exit $outcome.code
