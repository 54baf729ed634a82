# Start-up tasks: what carries the bootstrap over each restart of Windows.

# Has a command of ours run at each start of Windows, as the system, and with minutes also as often as that when it is not running: so one
# that has died comes back. Replaces the task of that name; one that runs goes on.
function Register-StartTask {
    param(
        [string] $Name,
        [string] $Command,
        [int] $Minutes = 0
    )
    $action = New-ScheduledTaskAction -Execute 'powershell.exe' -Argument "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File $Command"
    $triggers = @(New-ScheduledTaskTrigger -AtStartup)
    if ($Minutes -gt 0) {
        # From a day that is past on every clock; without a duration it goes on for ever.
        $triggers += New-ScheduledTaskTrigger -Once -At ([DateTime] '2020-01-01') -RepetitionInterval (New-TimeSpan -Minutes $Minutes)
    }
    $principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    # Without these settings a task ends after three days, is killed on a machine that believes it runs on battery, and it and all it
    # starts get less processor and disk than the pods.
    $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -Priority 4 -MultipleInstances IgnoreNew -RestartCount 99 -RestartInterval (New-TimeSpan -Minutes 1)
    Register-ScheduledTask -TaskName $Name -Action $action -Trigger $triggers -Principal $principal -Settings $settings -Force | Out-Null
}
