# Start-up tasks: what carries the bootstrap over each restart of Windows.

# Has a command of ours run at each start of Windows, as the system. Replaces the task of that name; one that runs goes on.
function Register-StartTask {
    param(
        [string] $Name,
        [string] $Command
    )
    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File $Command"
    $trigger = New-ScheduledTaskTrigger -AtStartup
    $principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    # Without these settings a task ends after three days, is killed on a machine that believes it runs on battery, and it and all it
    # starts get less processor and disk than the pods.
    $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -Priority 4 -MultipleInstances IgnoreNew -RestartCount 99 -RestartInterval (New-TimeSpan -Minutes 1)
    Register-ScheduledTask -TaskName $Name -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Force | Out-Null
}
