# Polls the cloud for a termination notice, then drains the node. A separate task, so that nothing that hangs delays it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/identity.ps1"
. "$PSScriptRoot/notice.ps1"

# One round. True when the cloud terminates the machine and it has been drained.
function Invoke-Round {
    param(
        [object] $Machine
    )
    $termination = Get-Termination $Machine
    if ($null -eq $termination) {
        return $false
    }
    # The cloud is told in any case.
    try {
        if (Test-Path -LiteralPath $Machine.paths.kubeconfig) {
            & "$PSScriptRoot/drain.ps1" -Seconds $termination.seconds -Hook $termination.hook
        }
    }
    catch {
        Write-Log "drain: $_"
    }
    Complete-Termination $Machine $termination
    $true
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'notices'
Initialize-Web
while ($true) {
    try {
        if (Invoke-Round $machine) {
            break
        }
    }
    catch {
        Write-Log "notices: $_"
    }
    Start-Sleep -Seconds $machine.watch.noticeSeconds
}
Write-Notice 'the cloud may take this machine now'
# A task that exits is restarted, and would drain again.
while ($true) {
    Start-Sleep -Seconds 3600
}
