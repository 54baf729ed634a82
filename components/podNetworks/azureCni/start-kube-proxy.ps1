# Entry of kube-proxy's HostProcess pod: prepares HNS for Azure's CNI plug-in once per boot, then waits for the program
# and runs it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/pod.ps1"

# What the plug-in remembers of the last boot names networks and addresses that are gone, and it notices no reboot
# (Azure/azure-container-networking PR#4551): every pod would fail. HNS itself was cleared by the stage network.
function Clear-State {
    param([string[]] $Files)
    Get-Process -Name azure-vnet* -ErrorAction SilentlyContinue | Stop-Process -Force
    foreach ($file in $Files) {
        Remove-Item -Force -LiteralPath $file -ErrorAction SilentlyContinue
    }
}

# The first network moves the adapter into a virtual switch, which cuts every connection. The plug-in makes its own at
# the first pod; with this one there before, that cuts nothing any more (Azure/AgentBaker, New-ExternalHnsNetwork). If a
# switch stayed behind, HNS refuses the adapter's name.
function New-FirstNetwork {
    param($First)
    $body = @{
        Type    = 'L2Bridge'
        Name    = $First.name
        Subnets = @(@{ AddressPrefix = $First.range; GatewayAddress = $First.gateway })
    }
    # While it moves, the adapter has no route and no name to give.
    $route = Wait-Until { Get-DefaultRoute } 180 'an adapter with a default route'
    if (-not (Test-VirtualSwitch)) {
        $body.NetworkAdapterName = $route.InterfaceAlias
    }
    Invoke-Hns POST '/networks/' ($body | ConvertTo-Json -Depth 10 -Compress) | Out-Null
}

# The configuration comes last: with it the node is Ready. The stage network removes it at each boot, so a restart of
# this pod changes nothing under the pods that run.
function Initialize-Network {
    param($Machine)
    $network = $Machine.network
    if (Test-Path -LiteralPath $network.conflist) {
        return
    }
    # With this boot's network there pods may run, whose addresses the state holds.
    if (-not (Get-HnsNetworkNamed $Machine.podNetwork.first.name)) {
        Clear-State $Machine.podNetwork.state
        New-FirstNetwork $Machine.podNetwork.first
    }
    Complete-Network $network $Machine.podNetwork.seconds
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
$node = Get-Node $machine
Initialize-Network $machine
# It waits itself for the network, which the plug-in makes at the first pod: nothing here may hold that pod back.
$program = $machine.kubeProxy.program
Wait-Program $program $machine.kubeProxy.seconds
Write-PodKubeconfig $machine $machine.kubeProxy.kubeconfig
$arguments = @($machine.kubeProxy.arguments | ForEach-Object { Expand-Text $_ $node })
exit (Wait-PodProgram (Start-PodProgram $program $arguments))
