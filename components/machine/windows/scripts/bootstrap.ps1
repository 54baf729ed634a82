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
        $code = 0
        try {
            Restart-Machine 10
            exit 0
        }
        catch {
            # The tasks ask for it again.
            Write-Log "no restart: $_"
        }
    }
}
# Also after a failure, which the extension reports: the run retries, and the cloud may terminate the machine meanwhile.
foreach ($task in $machine.tasks) {
    Start-ScheduledTask -ErrorAction Stop -TaskName $task.name
}
exit $code
