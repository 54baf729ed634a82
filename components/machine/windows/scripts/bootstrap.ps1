# Entry of the bootstrap: registers and starts the start-up task that carries the machine to Ready. Safe to run again.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/task.ps1"
$machine = Get-Machine
Start-Log $machine 'bootstrap'
Write-Log "bootstrap of pool $($machine.pool), Kubernetes $($machine.kubernetes)"

foreach ($task in $machine.tasks) {
    Register-StartTask $task.name $task.script $task.minutes
}

# Azure's extension reports what happened before the first reboot; it must not reboot itself, so the task waits for it.
$code = 0
if ($machine.foreground) {
    & "$PSScriptRoot/run.ps1" -FirstWave
    $code = $LASTEXITCODE
    if ($code -eq 3010) {
        Invoke-Program 'shutdown.exe' @('/r', '/t', '10', '/c', 'fenestra: features installed') | Out-Null
        exit 0
    }
}
# Also after a failure, which the extension reports: the run retries, and the cloud may terminate the machine meanwhile.
foreach ($task in $machine.tasks) {
    Start-ScheduledTask -ErrorAction Stop -TaskName $task.name
}
exit $code
