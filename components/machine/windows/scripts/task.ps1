# Start-up tasks, which continue the bootstrap after each restart of Windows.

# Registers a task that runs a command of ours as SYSTEM at each start of Windows and, given minutes, also at that
# interval when it is not running, so that a crashed one is restarted. Replaces the task of that name; a running one
# continues.
function Register-StartTask {
    param([string] $Name, [string] $Command, [int] $Minutes = 0)
    $action = New-ScheduledTaskAction -ErrorAction Stop -Execute 'powershell.exe' -Argument "-NoProfile -NonInteractive -ExecutionPolicy Bypass -File $Command"
    $triggers = @(New-ScheduledTaskTrigger -AtStartup)
    if ($Minutes -gt 0) {
        # Starts on a date that is past on every clock; without a duration it repeats for ever.
        $triggers += New-ScheduledTaskTrigger -Once -At ([DateTime] '2020-01-01') -RepetitionInterval (New-TimeSpan -Minutes $Minutes)
    }
    $principal = New-ScheduledTaskPrincipal -UserId 'SYSTEM' -LogonType ServiceAccount -RunLevel Highest
    # By default a task ends after three days, is killed on a machine that believes it runs on battery, and it and its
    # children get less CPU and disk than the pods.
    $settings = New-ScheduledTaskSettingsSet -ExecutionTimeLimit ([TimeSpan]::Zero) -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries -Priority 4 -MultipleInstances IgnoreNew -RestartCount 99 -RestartInterval (New-TimeSpan -Minutes 1)
    Register-ScheduledTask -ErrorAction Stop -TaskName $Name -Action $action -Trigger $triggers -Principal $principal -Settings $settings -Force | Out-Null
}
