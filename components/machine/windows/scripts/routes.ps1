# Host routes to the cloud's own services: a virtual switch or an image from another subnet loses them.

# The default route of the machine itself; nothing while the adapter moves into a virtual switch or out of it.
function Get-DefaultRoute {
    Get-NetRoute -AddressFamily IPv4 -DestinationPrefix '0.0.0.0/0' -ErrorAction SilentlyContinue |
        Where-Object { $_.NextHop -ne '0.0.0.0' } |
        Sort-Object { $_.RouteMetric + $_.InterfaceMetric } |
        Select-Object -First 1
}

# True while the machine's own address is behind a virtual switch. HNS names the adapter of the host so in every language of Windows.
function Test-VirtualSwitch {
    $route = Get-DefaultRoute
    $null -ne $route -and $route.InterfaceAlias -like 'vEthernet*'
}

# Puts each route on the adapter and gateway of the default route. Gives those it had to repair. For this boot only: an adapter behind a
# virtual switch is a new one at each boot, and a route that is kept would point to the old one.
function Repair-Routes {
    param(
        [string[]] $Prefixes
    )
    $default = Get-DefaultRoute
    if ($null -eq $default) {
        return
    }
    foreach ($prefix in $Prefixes) {
        $found = @(Get-NetRoute -DestinationPrefix $prefix -PolicyStore ActiveStore -ErrorAction SilentlyContinue)
        $right = @($found | Where-Object { $_.InterfaceIndex -eq $default.InterfaceIndex -and $_.NextHop -eq $default.NextHop })
        if ($right.Count -gt 0 -and $found.Count -eq $right.Count) {
            continue
        }
        # From both stores: one that the image keeps is wrong at the next boot too.
        foreach ($store in 'PersistentStore', 'ActiveStore') {
            Remove-NetRoute -DestinationPrefix $prefix -PolicyStore $store -Confirm:$false -ErrorAction SilentlyContinue
        }
        try {
            New-NetRoute -DestinationPrefix $prefix -InterfaceIndex $default.InterfaceIndex -NextHop $default.NextHop -RouteMetric 1 -PolicyStore ActiveStore | Out-Null
            $prefix
        }
        catch {
            # The launch agent of AWS writes the same routes at its start, perhaps just now; what is missing is made in the next round.
            Write-Log "route to $prefix not made: $_"
        }
    }
}
