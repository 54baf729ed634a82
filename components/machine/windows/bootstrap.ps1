# Entry of the bootstrap: registers the start-up task that carries the machine to Ready, and starts it. Safe to run again.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
$machine = Get-Machine
Start-Log $machine 'bootstrap'
Write-Log "bootstrap of pool $($machine.pool), Kubernetes $($machine.kubernetes)"

foreach ($task in $machine.tasks) {
    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File $($task.script)"
    $trigger = New-ScheduledTaskTrigger -AtStartup
    $principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    # Without these settings a task ends after three days, is killed on a machine that believes it runs on battery, and it and all it
    # starts get less processor and disk than the pods.
    $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -Priority 4 -MultipleInstances IgnoreNew -RestartCount 99 -RestartInterval (New-TimeSpan -Minutes 1)
    Register-ScheduledTask -TaskName $task.name -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Force | Out-Null
}

# Azure's extension reports what happened before the first reboot; none may happen inside it, so the task waits for the reboot.
if ($machine.foreground) {
    & "$PSScriptRoot/run.ps1" -FirstWave
    $code = $LASTEXITCODE
    if ($code -eq 3010) {
        Invoke-Program 'shutdown.exe' @('/r', '/t', '30', '/c', 'fenestra: features installed') | Out-Null
        exit 0
    }
    if ($code -ne 0) {
        Start-ScheduledTask -TaskName $machine.tasks[0].name
        exit $code
    }
}
foreach ($task in $machine.tasks) {
    Start-ScheduledTask -TaskName $task.name
}
exit 0
