# Entry of flanneld's HostProcess pod. Once the network exists, restores the routes lost by creating it and installs the
# CNI configuration, so that a Ready node can run pods.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/pod.ps1"

# This node's part of the pod network, from the API.
function Get-PodRange {
    param($Machine, $Node)
    Wait-Program $Machine.programs.kubectl $Machine.flanneld.seconds
    Wait-Until {
        # No quotes: Windows PowerShell drops them when it passes arguments to a program.
        "$(Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.flanneld.kubeconfig, '--request-timeout', '10s', 'get', 'node', $Node.name, '-o', 'jsonpath={.spec.podCIDR}'))"
    } $Machine.flanneld.seconds "the pod range of node $($Node.name)"
}

# flanneld names the adapter that has the node's address, and HNS refuses that name when it is the host's end of a
# virtual switch. If a switch stayed behind without its network, the network is created here without a name: HNS uses
# the existing switch (Azure/azure-container-networking, network/network_windows.go), and flanneld keeps a network with
# its name, type and range (flannel-io/flannel, pkg/backend/vxlan/device_windows.go).
function Restore-Network {
    param($Machine, $Node)
    $network = $Machine.network
    if (-not (Test-VirtualSwitch) -or (Get-HnsNetworkNamed $network.name)) {
        return
    }
    $range = Get-PodRange $Machine $Node
    Write-Log "a virtual switch stayed behind: makes $($network.name) for $range on it"
    $gateway = [Net.IPAddress]::Parse(($range -split '/')[0]).GetAddressBytes()
    $gateway[3] += 1
    $body = @{
        Type    = 'Overlay'
        Name    = $network.name
        Subnets = @(@{
            AddressPrefix  = $range
            GatewayAddress = $gateway -join '.'
            Policies       = @(@{ Type = 'VSID'; VSID = $network.vni })
        })
    }
    Invoke-Hns POST '/networks/' ($body | ConvertTo-Json -Depth 10 -Compress) | Out-Null
}

# True once flanneld has written the node's subnet and HNS has the network; HNS that does not respond for a moment is
# polled again.
function Test-Network {
    param($Network)
    try {
        [bool] ((Get-Subnet $Network.subnetFile) -and (Get-HnsNetworkNamed $Network.name))
    }
    catch {
        Write-Log "$_"
        $false
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
$node = Get-Node $machine
Write-PodKubeconfig $machine $machine.flanneld.kubeconfig
Restore-Network $machine $node
# A file from a previous run would be mistaken for this one's.
Remove-Item -Force -LiteralPath $machine.network.subnetFile -ErrorAction SilentlyContinue
$env:NODE_NAME = $node.name
$arguments = @($machine.flanneld.arguments | ForEach-Object { Expand-Text $_ $node })
$process = Start-PodProgram $machine.flanneld.program $arguments
try {
    Wait-Until { $process.HasExited -or (Test-Network $machine.network) } $machine.flanneld.seconds "flanneld to make $($machine.network.name)" 0.5 | Out-Null
    if (-not $process.HasExited) {
        Complete-Network $machine.network
        $process.WaitForExit()
    }
}
finally {
    # The kubelet restarts the pod; a leftover flanneld would block it.
    if (-not $process.HasExited) {
        $process.Kill()
    }
}
exit $process.ExitCode
