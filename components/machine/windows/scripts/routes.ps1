# Host routes to the cloud's own services, which a virtual switch or an image from another subnet loses.

# Whether an adapter keeps an address: HNS would take over one that is only tentative, or of 169.254.0.0/16
# (Azure/AgentBaker#8008).
function Test-Address {
    param([int] $Index)
    @(Get-NetIPAddress -AddressFamily IPv4 -InterfaceIndex $Index -ErrorAction SilentlyContinue |
        Where-Object { "$($_.AddressState)" -eq 'Preferred' -and $_.IPAddress -notlike '169.254.*' }).Count -gt 0
}

# The machine's own default route; nothing while the adapter moves into a virtual switch or out of it.
function Get-DefaultRoute {
    Get-NetRoute -AddressFamily IPv4 -DestinationPrefix '0.0.0.0/0' -ErrorAction SilentlyContinue |
        Where-Object { $_.NextHop -ne '0.0.0.0' -and (Test-Address $_.InterfaceIndex) } |
        Sort-Object { $_.RouteMetric + $_.InterfaceMetric } |
        Select-Object -First 1
}

# True while the machine's address is behind a virtual switch. HNS uses this adapter name in every language of Windows.
function Test-VirtualSwitch {
    $route = Get-DefaultRoute
    $null -ne $route -and $route.InterfaceAlias -like 'vEthernet*'
}

# Puts each route on the adapter and gateway of the default route. Returns those it had to repair. For this boot only:
# an adapter behind a virtual switch is new at each boot, and a persistent route would point to the old one.
function Repair-Routes {
    param([string[]] $Prefixes)
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
        try {
            # The right one first, so that there is never none.
            if ($right.Count -eq 0) {
                New-NetRoute -ErrorAction Stop -DestinationPrefix $prefix -InterfaceIndex $default.InterfaceIndex -NextHop $default.NextHop -RouteMetric 1 -PolicyStore ActiveStore | Out-Null
            }
            foreach ($route in @($found | Where-Object { $right -notcontains $_ })) {
                Remove-NetRoute -DestinationPrefix $prefix -InterfaceIndex $route.InterfaceIndex -NextHop $route.NextHop -PolicyStore ActiveStore -Confirm:$false -ErrorAction SilentlyContinue
            }
            # A persistent route from the image is wrong at the next boot too.
            Remove-NetRoute -DestinationPrefix $prefix -PolicyStore PersistentStore -Confirm:$false -ErrorAction SilentlyContinue
            $prefix
        }
        catch {
            # AWS's launch agent writes the same routes at its start, perhaps just now; missing ones are added in the
            # next round.
            Write-Log "route to $prefix not made: $_"
        }
    }
}
