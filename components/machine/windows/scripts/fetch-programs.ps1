# Programs: needed in service but not to become Ready, downloaded while the kubelet registers the node. kube-proxy's pod
# waits for its program.
param($Machine)
. "$PSScriptRoot/fetch-files.ps1"
Install-Artifacts $Machine 'programs'
