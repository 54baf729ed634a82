# Images that pods of this node will want, pulled some time after the node is Ready, so that they delay neither it nor its first pods.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
$machine = Get-Machine
Start-Log $machine 'prepull'
Start-Sleep -Seconds $machine.prePull.afterSeconds
foreach ($image in $machine.prePull.images) {
    try {
        Invoke-Program $machine.programs.crictl @('--runtime-endpoint', $machine.kubeletEndpoint, '--timeout', '30m', 'pull', $image) | Out-Null
        Write-Log "pulled $image"
    }
    catch {
        Write-Log "not pulled: $_"
    }
}
exit 0
