# Images that pods of this node will want, pulled after the node is Ready so that they delay nothing.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
$machine = Get-Machine
Start-Log $machine 'prepull'
foreach ($image in $machine.prePull) {
    try {
        Invoke-Program $machine.programs.crictl @('--runtime-endpoint', $machine.kubeletEndpoint, '--timeout', '30m', 'pull', $image) | Out-Null
        Write-Log "pulled $image"
    }
    catch {
        Write-Log "not pulled: $_"
    }
}
exit 0
