# Host routes to the cloud's own services, which a virtual switch or an image from another subnet loses.

# This boot's routes, all at once: to a question for one of them "there is none" is an error like any other.
function Get-Routes {
    Invoke-Wmi { Get-NetRoute -AddressFamily IPv4 -PolicyStore ActiveStore -CimSession $wmi -ErrorAction Stop }
}

# Adapters that keep an address: HNS would take over one that is only tentative, or of 169.254.0.0/16
# (Azure/AgentBaker#8008).
function Get-Addressed {
    Invoke-Wmi { Get-NetIPAddress -AddressFamily IPv4 -CimSession $wmi -ErrorAction Stop } |
        Where-Object { "$($_.AddressState)" -eq 'Preferred' -and $_.IPAddress -notlike '169.254.*' } |
        ForEach-Object { $_.InterfaceIndex }
}

# The machine's own default route; nothing while the adapter moves into a virtual switch or out of it.
function Get-DefaultRoute {
    param([object[]] $Routes = @(Get-Routes))
    $addressed = @(Get-Addressed)
    $Routes |
        Where-Object { $_.DestinationPrefix -eq '0.0.0.0/0' -and $_.NextHop -ne '0.0.0.0' -and $addressed -contains $_.InterfaceIndex } |
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
    $routes = @(Get-Routes)
    $default = Get-DefaultRoute $routes
    if ($null -eq $default) {
        return
    }
    foreach ($prefix in $Prefixes) {
        $found = @($routes | Where-Object { $_.DestinationPrefix -eq $prefix })
        $right = @($found | Where-Object { $_.InterfaceIndex -eq $default.InterfaceIndex -and $_.NextHop -eq $default.NextHop })
        if ($right.Count -gt 0 -and $found.Count -eq $right.Count) {
            continue
        }
        try {
            # The right one first, so that there is never none.
            if ($right.Count -eq 0) {
                Invoke-Wmi { New-NetRoute -CimSession $wmi -ErrorAction Stop -DestinationPrefix $prefix -InterfaceIndex $default.InterfaceIndex -NextHop $default.NextHop -RouteMetric 1 -PolicyStore ActiveStore } | Out-Null
            }
            foreach ($route in @($found | Where-Object { $right -notcontains $_ })) {
                Invoke-Wmi { Remove-NetRoute -CimSession $wmi -DestinationPrefix $prefix -InterfaceIndex $route.InterfaceIndex -NextHop $route.NextHop -PolicyStore ActiveStore -Confirm:$false -ErrorAction SilentlyContinue }
            }
            # A persistent route from the image is wrong at the next boot too.
            Invoke-Wmi { Remove-NetRoute -CimSession $wmi -DestinationPrefix $prefix -PolicyStore PersistentStore -Confirm:$false -ErrorAction SilentlyContinue }
            $prefix
        }
        catch {
            # AWS's launch agent writes the same routes at its start, perhaps just now; missing ones are added in the
            # next round.
            Write-Log "route to $prefix not made: $_"
        }
    }
}

# Creating the network moved the adapter into a virtual switch, which lost the routes to the cloud's services.
function Complete-Network {
    param($Network, [int] $Seconds = 60)
    try {
        Wait-Until { Test-VirtualSwitch } $Seconds 'the default route behind the virtual switch' | Out-Null
    }
    catch {
        # The health task repairs routes too, and a node without them is better than none.
        Write-Log "$_"
    }
    Repair-Routes $Network.routes | Out-Null
    Write-Text $Network.conflist (Read-Text $Network.conflistTemplate -Needed)
}
