# Routes and HNS of a Windows machine in a few lines, for the tests of the network.
. "$PSScriptRoot/hns-fake.ps1"

# The table of this boot, what is kept for the next one, what was taken out, and the address of each adapter.
$table = @{ routes = @(); kept = @(); removed = @(); address = @{ AddressState = 'Preferred'; IPAddress = '10.0.0.9' } }
function New-CimSession { }
function Remove-CimSession { }
function Get-NetIPAddress {
    foreach ($index in @($table.routes.InterfaceIndex | Sort-Object -Unique)) {
        [PSCustomObject] ($table.address + @{ InterfaceIndex = $index })
    }
}
function New-Route {
    param($Prefix, $Index, $NextHop, $Alias = "nic$Index")
    [PSCustomObject] @{ DestinationPrefix = $Prefix; InterfaceIndex = $Index; NextHop = $NextHop; RouteMetric = 0; InterfaceMetric = 15; InterfaceAlias = $Alias }
}
function Get-NetRoute {
    param($AddressFamily, $PolicyStore = 'ActiveStore')
    $from = $table.routes
    if ($PolicyStore -eq 'PersistentStore') { $from = $table.kept }
    $from
}
# Without a store it writes to both, as Windows does.
function New-NetRoute {
    param($DestinationPrefix, $InterfaceIndex, $NextHop, $RouteMetric, $PolicyStore)
    if ($PolicyStore -ne 'PersistentStore') {
        $table.routes += New-Route $DestinationPrefix $InterfaceIndex $NextHop
    }
    if ($PolicyStore -ne 'ActiveStore') {
        $table.kept += New-Route $DestinationPrefix $InterfaceIndex $NextHop
    }
}
function Remove-NetRoute {
    param($DestinationPrefix, $InterfaceIndex, $NextHop, $PolicyStore, [switch] $Confirm)
    $table.removed += "$PolicyStore $DestinationPrefix"
    if ($PolicyStore -ne 'PersistentStore') {
        $table.routes = @($table.routes | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix -or $_.InterfaceIndex -ne $InterfaceIndex -or $_.NextHop -ne $NextHop })
    }
    if ($PolicyStore -ne 'ActiveStore') {
        $table.kept = @($table.kept | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix })
    }
}

# HNS with its networks and the virtual switch, as far as upstream tells of it. Version 1 and 2 of its API refuse the
# name of a host vNIC: "per hns team, the hns calls fails if passed a vSwitch interface"
# (Azure/azure-container-networking, network/network_windows.go, newNetworkImplHnsV1 and configureHcnNetwork), with the
# error of antrea-io/antrea#2213 and flannel-io/flannel#1966. An adapter that is in a switch is not found
# (microsoft/SDN#269). Without a name HNS takes the switch that is there (ovn-kubernetes,
# hybrid-overlay/pkg/controller/node_windows.go), else an adapter. The first overlay network moves the adapter into a
# switch, the deletion of the last one gives it back (rancher/rke2, pkg/windows/utils.go): both cut every route.
$hns = @{}
function Clear-FakeHns {
    Set-Values $hns @{ policylists = @(); endpoints = @(); networks = @(@{ ID = 'n0'; Name = 'nat'; Type = 'NAT' }); switch = $false; stuck = $false; back = 0; made = 0 }
    Set-Values $table @{ routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1'); kept = @(); removed = @() }
}
# Moves the adapter into the switch or out of it: without a route for two pauses.
function Set-Switch {
    param([bool] $On)
    $hns.switch = $On
    $table.routes = @()
    $hns.back = 2
}
# A pause: the adapter gets its address again, where it is now.
function Step-Adapter {
    $hns.back -= 1
    if ($hns.back -gt 0 -or @($table.routes | Where-Object { $_.DestinationPrefix -eq '0.0.0.0/0' }).Count -gt 0) {
        return
    }
    if ($hns.switch) {
        $table.routes += New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)'
    }
    else {
        $table.routes += New-Route '0.0.0.0/0' 7 '10.0.0.1'
    }
}
function Get-NetworkAnswer {
    param($Method, $Path, $Body)
    $kind = $Path.Trim('/').Split('/')[0]
    $id = $Path.Trim('/').Split('/')[1]
    if ($Method -eq 'GET') {
        return @{ Success = $true; Output = @($hns[$kind]) } | ConvertTo-Json -Depth 8 -Compress
    }
    if ($Method -eq 'DELETE') {
        $before = @($hns.networks | Where-Object { $_.Type -eq 'Overlay' }).Count
        $hns[$kind] = @($hns[$kind] | Where-Object { $_.ID -ne $id })
        if ($before -gt 0 -and @($hns.networks | Where-Object { $_.Type -eq 'Overlay' }).Count -eq 0 -and -not $hns.stuck) {
            Set-Switch $false
        }
        return '{"Success":true}'
    }
    $wanted = $Body | ConvertFrom-Json
    $adapter = "$($wanted.NetworkAdapterName)"
    if ($adapter -like 'vEthernet*') {
        return '{"Success":false,"Error":"The parameter is incorrect. ","ErrorCode":2147942487}'
    }
    if ($adapter -and ($hns.switch -or $adapter -ne 'nic7')) {
        return '{"Success":false,"Error":"An adapter was not found. ","ErrorCode":2151350278}'
    }
    $hns.made += 1
    $hns.networks += @{ ID = "made-$($hns.made)"; Name = $wanted.Name; Type = $wanted.Type; Subnets = $wanted.Subnets; ManagementIP = $table.address.IPAddress }
    if (-not $hns.switch) { Set-Switch $true }
    '{"Success":true}'
}
# What flanneld v0.28.9 does (flannel-io/flannel, pkg/backend/vxlan/vxlan_windows.go and device_windows.go): it keeps a
# network of its name, type and range, deletes another one of its name, and makes one with the name of the adapter that
# has the node's address.
function Invoke-Flanneld {
    param($Name, $Range)
    # Looked up at its start.
    $adapter = (Get-DefaultRoute).InterfaceAlias
    foreach ($network in @(Invoke-Hns GET '/networks/' | Where-Object { $_.Name -eq $Name })) {
        if ($network.Type -eq 'Overlay' -and $network.Subnets[0].AddressPrefix -eq $Range) { return }
        Invoke-Hns DELETE "/networks/$($network.ID)" | Out-Null
    }
    $body = @{ Type = 'Overlay'; Name = $Name; NetworkAdapterName = $adapter; Subnets = @(@{ AddressPrefix = $Range }) }
    Invoke-Hns POST '/networks/' ($body | ConvertTo-Json -Depth 5 -Compress) | Out-Null
}
