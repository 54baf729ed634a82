# Networking of the machine of fakes.ps1: routes, firewall, shares, and HNS.
# The routes of this boot and those that are kept for the next.
function New-Route {
    param($Prefix, $Index, $NextHop, $Alias = "nic$Index")
    [PSCustomObject] @{ DestinationPrefix = $Prefix; InterfaceIndex = $Index; NextHop = $NextHop; RouteMetric = 0; InterfaceMetric = 15; InterfaceAlias = $Alias }
}
function Get-NetRoute { Invoke-Call 'Get-NetRoute' { $fakePc.routes } }
function Get-NetIPAddress {
    Invoke-Call 'Get-NetIPAddress' { foreach ($fakeIndex in @($fakePc.routes.InterfaceIndex | Sort-Object -Unique)) { [PSCustomObject] ($fakePc.address + @{ InterfaceIndex = $fakeIndex }) } }
}
# Without a store it writes to both, as Windows does.
function New-NetRoute {
    param($DestinationPrefix, $InterfaceIndex, $NextHop, $RouteMetric, $PolicyStore)
    Invoke-Call "New-NetRoute $DestinationPrefix" -Sure {
        Add-Deed 'route'
        if ($PolicyStore -ne 'PersistentStore') { $fakePc.routes += New-Route $DestinationPrefix $InterfaceIndex $NextHop }
        if ($PolicyStore -ne 'ActiveStore') { $fakePc.kept += New-Route $DestinationPrefix $InterfaceIndex $NextHop }
    }
}
function Remove-NetRoute {
    param($DestinationPrefix, $InterfaceIndex, $NextHop, $PolicyStore, [switch] $Confirm)
    Invoke-Call 'Remove-NetRoute' -Sure {
        $fakePc.removed += "$PolicyStore $DestinationPrefix"
        if ($PolicyStore -ne 'PersistentStore') {
            $fakePc.routes = @($fakePc.routes | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix -or $_.InterfaceIndex -ne $InterfaceIndex -or $_.NextHop -ne $NextHop })
        }
        if ($PolicyStore -ne 'ActiveStore') { $fakePc.kept = @($fakePc.kept | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix }) }
    }
}
function Get-NetFirewallRule { param($Name) $fakePc.rules | Where-Object { $_.Name -eq $Name } }
function Remove-NetFirewallRule {
    process {
        $fakeRule = $_
        Invoke-Call 'Remove-NetFirewallRule' -Sure { $fakePc.rules = @($fakePc.rules | Where-Object { $_.Name -ne $fakeRule.Name }) }
    }
}
function New-NetFirewallRule {
    param($Name, $DisplayName, $Direction, $Action, $Profile, $Protocol, $LocalPort)
    Invoke-Call 'New-NetFirewallRule' -Sure { $fakePc.rules += @{ Name = $Name; text = "$Direction $Action $Profile $Protocol $LocalPort" } }
}
# Throws where the module's provider does not answer.
function Get-SmbGlobalMapping {
    if ($fakePc.shares -is [string]) { throw $fakePc.shares }
    $fakePc.shares
}
function Remove-SmbGlobalMapping {
    param($RemotePath, [switch] $Force)
    if (-not $Force) { throw 'it asks' }
    $fakePc.shares = @($fakePc.shares | Where-Object { $_.RemotePath -ne $RemotePath })
}

# HNS with its networks and the virtual switch, as far as upstream tells of it. Version 1 and 2 of its API refuse the
# name of a host vNIC: "per hns team, the hns calls fails if passed a vSwitch interface"
# (Azure/azure-container-networking, network/network_windows.go, newNetworkImplHnsV1 and configureHcnNetwork), with the
# error of antrea-io/antrea#2213 and flannel-io/flannel#1966. Without a name HNS takes the switch that is there (ovn-kubernetes,
# hybrid-overlay/pkg/controller/node_windows.go), else an adapter. The first overlay network moves the adapter into a
# switch, the deletion of the last one gives it back (rancher/rke2, pkg/windows/utils.go): both cut every route.
if (-not ('Fenestra.Hns' -as [type])) {
    Add-Type -TypeDefinition '
namespace Fenestra
{
    public static class Hns
    {
        public static System.Func<string, string, string, string> Answer;
        public static string Call(string method, string path, string request, int milliseconds)
        {
            return Answer(method, path, request);
        }
    }
}'
}
[Fenestra.Hns]::Answer = {
    param($Method, $Path, $Body)
    $fakeKind = $Path.Trim('/').Split('/')[0]
    $fakeSaid = Invoke-Call "HNS $Method $fakeKind" -Limit 60 -Sure:($Method -eq 'DELETE') {
        if ($Method -ne 'GET') { Add-Deed "$Method $Path" }
        if ($fakePc.onHns) { & $fakePc.onHns $Method $Path $Body } else { Get-NetworkAnswer $Method $Path $Body }
    }
    if ($fakeSaid -isnot [string] -and $fakeSaid) { return '{"Success":true,"Output":[{}]}' }
    $fakeSaid
}
# Moves the adapter into the switch or out of it: without a route for two pauses.
function Set-Switch {
    param([bool] $On)
    Set-Values $fakePc @{ switch = $On; routes = @(); back = 2 }
}
# A pause: the adapter gets its address again, where it is now.
function Step-Adapter {
    $fakePc.back -= 1
    if ($fakePc.back -gt 0 -or @($fakePc.routes | Where-Object { $_.DestinationPrefix -eq '0.0.0.0/0' }).Count -gt 0) { return }
    $fakePc.routes += if ($fakePc.switch) { New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)' } else { New-Route '0.0.0.0/0' 7 '10.0.0.1' }
}
function Get-NetworkAnswer {
    param($Method, $Path, $Body)
    $fakeKind, $fakeId = $Path.Trim('/').Split('/')
    if ($Method -eq 'GET') { return @{ Success = $true; Output = @($fakePc[$fakeKind]) } | ConvertTo-Json -Depth 8 -Compress }
    if ($Method -eq 'DELETE') {
        $fakeBefore = @($fakePc.networks | Where-Object { $_.Type -eq 'Overlay' }).Count
        $fakePc[$fakeKind] = @($fakePc[$fakeKind] | Where-Object { $_.ID -ne $fakeId })
        if ($fakeBefore -gt 0 -and @($fakePc.networks | Where-Object { $_.Type -eq 'Overlay' }).Count -eq 0 -and -not $fakePc.stuck) { Set-Switch $false }
        return '{"Success":true}'
    }
    $fakeWanted = $Body | ConvertFrom-Json
    $fakeAdapter = "$($fakeWanted.NetworkAdapterName)"
    if ($fakeAdapter -like 'vEthernet*') { return '{"Success":false,"Error":"The parameter is incorrect. ","ErrorCode":2147942487}' }
    $fakePc.made += 1
    $fakePc.networks += @{ ID = "made-$($fakePc.made)"; Name = $fakeWanted.Name; Type = $fakeWanted.Type; Subnets = $fakeWanted.Subnets; ManagementIP = $fakePc.address.IPAddress }
    if (-not $fakePc.switch) { Set-Switch $true }
    '{"Success":true}'
}
# host-local (containernetworking/plugins, plugins/ipam/host-local): a file for each address, with its holder in the first
# line; a second ADD of a holder is refused.
$fakeHostLocal = {
    Add-Deed $env:CNI_COMMAND
    $fakeAsked = $args[1] | ConvertFrom-Json
    $fakeStore = "$($fakeAsked.ipam.dataDir)/$($fakeAsked.name)"
    New-Folder $fakeStore
    $fakeOwn = @(Get-ChildItem -File $fakeStore | Where-Object { (Get-Content -TotalCount 1 $_.FullName) -eq $env:CNI_CONTAINERID })
    if ($env:CNI_COMMAND -eq 'DEL') { return $fakeOwn | Remove-Item }
    if ($fakeOwn.Count -gt 0) { throw 'duplicate allocation is not allowed' }
    $fakePc.next += 1
    $fakeAddress = $fakeAsked.ipam.ranges[0][0].subnet -replace '0/24$', "$($fakePc.next)"
    Set-Content -Path "$fakeStore/$fakeAddress" -Value $env:CNI_CONTAINERID, $env:CNI_IFNAME
    "{`"cniVersion`":`"1.0.0`",`"ips`":[{`"address`":`"$fakeAddress/24`"}]}"
}
# What flanneld v0.28.9 does (flannel-io/flannel, pkg/backend/vxlan/vxlan_windows.go and device_windows.go): it keeps a
# network of its name, type and range, deletes another one of its name, and makes one with the name of the adapter that
# has the node's address.
function Invoke-Flanneld {
    param($Name = 'flannel.4096')
    $fakeRange = '10.244.3.0/24'
    # Looked up at its start.
    $fakeAdapter = (Get-DefaultRoute).InterfaceAlias
    foreach ($fakeEach in @(Invoke-Hns GET '/networks/' | Where-Object { $_.Name -eq $Name })) {
        if ($fakeEach.Type -eq 'Overlay' -and $fakeEach.Subnets[0].AddressPrefix -eq $fakeRange) { return }
        Invoke-Hns DELETE "/networks/$($fakeEach.ID)" | Out-Null
    }
    Invoke-Hns POST '/networks/' (@{ Type = 'Overlay'; Name = $Name; NetworkAdapterName = $fakeAdapter; Subnets = @(@{ AddressPrefix = $fakeRange }) } | ConvertTo-Json -Depth 5 -Compress) | Out-Null
}
