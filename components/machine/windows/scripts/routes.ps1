# Host routes to the cloud's own services: a virtual switch or an image from another subnet loses them.

# The default route of the machine itself.
function Get-DefaultRoute {
    Get-NetRoute -AddressFamily IPv4 -DestinationPrefix '0.0.0.0/0' -ErrorAction SilentlyContinue |
        Where-Object { $_.NextHop -ne '0.0.0.0' } |
        Sort-Object { $_.RouteMetric + $_.InterfaceMetric } |
        Select-Object -First 1
}

# Puts each route on the adapter and gateway of the default route, for now and for the next boot. Gives those it had to repair.
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
        foreach ($store in 'PersistentStore', 'ActiveStore') {
            Remove-NetRoute -DestinationPrefix $prefix -PolicyStore $store -Confirm:$false -ErrorAction SilentlyContinue
        }
        # Without a store it is written to both.
        New-NetRoute -DestinationPrefix $prefix -InterfaceIndex $default.InterfaceIndex -NextHop $default.NextHop -RouteMetric 1 | Out-Null
        $prefix
    }
}
