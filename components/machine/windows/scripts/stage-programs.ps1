# Programs: what the node needs in service but not to become Ready, fetched while the kubelet registers it. kube-proxy's pod waits for its own.
param(
    [object] $Machine
)
. "$PSScriptRoot/download.ps1"
Install-Artifacts $Machine 'programs'
