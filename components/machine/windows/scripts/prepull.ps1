# Pulls images that this node's pods will need, some time after the node is Ready, so that neither it nor its first pods
# are delayed.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
$machine = Get-Machine
Start-Log $machine 'prepull'
Start-Sleep -Seconds $machine.prePull.afterSeconds
foreach ($image in $machine.prePull.images) {
    try {
        Invoke-Crictl $machine @('pull', $image) 1800 | Out-Null
        Write-Log "pulled $image"
    }
    catch {
        Write-Log "not pulled: $_"
    }
}
exit 0
