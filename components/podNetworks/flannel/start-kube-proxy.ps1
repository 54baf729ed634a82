# Entry of kube-proxy's HostProcess pod: waits for the program and the pod network, reserves the source address in the
# pods' IPAM store, runs it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/pod.ps1"

# True when the address is reserved for kube-proxy in the store and belongs to the current subnet.
function Test-SourceVip {
    param($Network, $Kept, [string] $Subnet)
    $file = "$($Network.reservations)/$($Kept.address)"
    $Kept.subnet -eq $Subnet -and (Test-Path -LiteralPath $file) -and ((Read-Text $file) -split "`r?`n")[0] -eq $Network.sourceVip.container
}

# Calls the IPAM plug-in as the runtime would, with the same name and folder, so that no pod gets the same address.
function Request-Address {
    param($Machine, [string] $Command, [string] $Subnet)
    $network = $Machine.network
    $range = @{ subnet = $Subnet }
    $ipam = @{ type = 'host-local'; dataDir = $network.hostLocal; ranges = @(, @($range)) }
    $body = @{ cniVersion = '1.0.0'; name = $network.name; ipam = $ipam } | ConvertTo-Json -Depth 6 -Compress
    $env:CNI_COMMAND = $Command
    $env:CNI_CONTAINERID = $network.sourceVip.container
    $env:CNI_NETNS = $network.sourceVip.container
    $env:CNI_IFNAME = $network.sourceVip.interface
    $env:CNI_PATH = $Machine.paths.cniBin
    (Invoke-Program $Machine.programs.hostLocal @() -Text $body -Seconds 60) -join "`n"
}

# The source address: the previous one while it is ours, else a new one.
function Get-SourceVip {
    param($Machine, [string] $Subnet)
    $file = $Machine.network.sourceVip.file
    $kept = Read-Data $file
    if ($kept -and (Test-SourceVip $Machine.network $kept $Subnet)) {
        return $kept.address
    }
    # A second ADD for the same name is refused: release what an interrupted attempt may hold.
    Request-Address $Machine 'DEL' $Subnet | Out-Null
    $answer = Request-Address $Machine 'ADD' $Subnet | ConvertFrom-Json
    $address = @($answer.ips)[0].address -replace '/.*$', ''
    Write-Text $file (@{ address = $address; subnet = $Subnet } | ConvertTo-Json -Compress)
    $address
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
$node = Get-Node $machine
$network = $machine.network
$program = $machine.kubeProxy.program
Wait-Program $program $machine.kubeProxy.seconds
$subnet = Wait-Until { Get-Subnet $network.subnetFile } $machine.kubeProxy.seconds 'flanneld to write the subnet' 0.5
Wait-Until { (Get-HnsNetworkNamed $network.name).ManagementIP } $machine.kubeProxy.seconds "the network $($network.name)" 0.5 | Out-Null
$vip = Get-SourceVip $machine $subnet
Write-Log "source address $vip"
Write-PodKubeconfig $machine $machine.kubeProxy.kubeconfig
$arguments = @($machine.kubeProxy.arguments | ForEach-Object { (Expand-Text $_ $node).Replace('@SOURCE_VIP@', $vip) })
exit (Wait-PodProgram (Start-PodProgram $program $arguments))
