# Entry of flanneld's HostProcess pod. The CNI configuration is put in place once the network exists, so that a Ready node can run pods.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/pod.ps1"
$machine = Get-Machine
$node = Get-Node $machine
$network = $machine.network

Write-PodKubeconfig $machine $machine.flanneld.kubeconfig
$env:NODE_NAME = $node.name
$arguments = @($machine.flanneld.arguments | ForEach-Object { Expand-Text $_ $node })
$process = Start-PodProgram $machine.flanneld.program $arguments
try {
    Wait-Until { $process.HasExited -or ((Get-Subnet $network.subnetFile) -and (Get-HnsNetworkNamed $network.name)) } $machine.flanneld.seconds "flanneld to make $($network.name)" | Out-Null
    if (-not $process.HasExited) {
        Write-Text $network.conflist ([IO.File]::ReadAllText($network.conflistTemplate))
        $process.WaitForExit()
    }
}
finally {
    # The kubelet restarts the pod; a flanneld that is left over would hold its place.
    if (-not $process.HasExited) {
        $process.Kill()
    }
}
exit $process.ExitCode
