# The network of a boot: stale state, an adapter that comes late, a service that does not let go, repeats, and power
# that goes at any point.
. "$PSScriptRoot/fakes.ps1"
foreach ($name in 'lib', 'state', 'services', 'hns', 'routes') { . "$scripts/$name.ps1" }

$env:ProgramData = $temp
$fakeFile = "$temp/Microsoft/Windows/HNS/HNS.data"
New-Folder (Split-Path -Parent $fakeFile)

# A machine that has just started: bare, or with what the boot before left. HNS starts with what its file holds, and may
# not let go of a thing.
function New-Case {
    param([switch] $Stale)
    $machine = New-Data @'
network.routes[] 169.254.169.254/32, 169.254.169.123/32
network.firewall [{"name":"fenestra-kubelet","protocol":"TCP","port":10250},{"name":"fenestra-vxlan","protocol":"UDP","port":4789}]
'@
    $store = $machine.network.reservations
    New-Folder $store
    Write-Text $fakeFile 'state'
    Reset-Pc @{
        services = @{ hns = @{ status = 'Stopped' } }; refuse = ''
        onStart  = {
            if (Test-Path $fakeFile) { return }
            Set-Values $fakePc @{ policylists = @(); endpoints = @(); networks = @() }
            if ($fakePc.switch -and -not $fakePc.stuck) { Set-Switch $false }
            Write-Text $fakeFile 'empty'
        }
        onHns    = {
            if ("$($args[0]) $($args[1])" -eq $fakePc.refuse) { return '{"Success":false,"Error":"The object is in use."}' }
            Get-NetworkAnswer @args
        }
    }
    if ($Stale) {
        Set-Values $fakePc @{
            policylists = @(@{ ID = 'p1' }, @{ ID = 'p2' }); endpoints = @(@{ ID = 'e1'; Name = 'pod' }, @{ ID = 'e2'; Name = 'pod' })
            networks = $fakePc.networks + @{ ID = 'n1'; Name = 'flannel.4096'; Type = 'Overlay' }
            switch = $true; routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)')
            rules = @(@{ Name = 'fenestra-kubelet'; text = 'Inbound Allow Any TCP 1' })
        }
        foreach ($path in $machine.network.conflist, $machine.network.subnetFile) { Write-Text $path 'old' }
        Set-Content -Path "$store/10.244.3.2" -Value @('fenestra-source-vip', 'source-vip')
        Set-Content -Path "$store/10.244.3.9" -Value @('a-pod', 'eth0')
        Write-Text "$store/last_reserved_ip.0" '10.244.3.9'
    }
    $machine
}
function Invoke-Network {
    param($Machine)
    & "$scripts/clear-network.ps1" -Machine $Machine
}
# All that the stage is for, in a form that can be compared.
function Get-State {
    param($Machine)
    [ordered] @{
        endpoints    = $fakePc.endpoints.Count + $fakePc.policylists.Count
        networks     = @($fakePc.networks.Name | Sort-Object)
        routes       = @($fakePc.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        kept         = @($fakePc.kept | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        rules        = @($fakePc.rules | ForEach-Object { "$($_.Name) $($_.text)" } | Sort-Object)
        files        = @(Get-ChildItem -File -Recurse $Machine.folder | ForEach-Object { $_.Name } | Sort-Object)
    }
}
$expected = [ordered] @{
    endpoints = 0
    networks  = @('nat')
    routes    = @('0.0.0.0/0 7', '169.254.169.123/32 7', '169.254.169.254/32 7')
    kept      = @()
    rules     = @('fenestra-kubelet Inbound Allow Any TCP 10250', 'fenestra-vxlan Inbound Allow Any UDP 4789')
    files     = @('10.244.3.2', 'last_reserved_ip.0')
}
Test 'what the last boot left is cleared, but kube-proxy''s address and Windows'' network, once' {
    $machine = New-Case -Stale
    # A stage that is repeated in one boot: they would not notice that all of theirs is gone.
    $fakePc.processes = @('flanneld', 'kube-proxy', 'other')
    Invoke-Network $machine
    Assert-Equal $fakePc.processes @('other')
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($fakePc.deeds -like 'DELETE *') @('DELETE /policylists/p1', 'DELETE /policylists/p2', 'DELETE /endpoints/e1', 'DELETE /endpoints/e2', 'DELETE /networks/n1')
    Set-Values $fakePc @{ deeds = @(); removed = @() }
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($fakePc.deeds -match '^(POST|DELETE) ') @()
    Assert-Equal $fakePc.removed @()
}
Test 'features that Windows has rolled back are installed again' {
    $machine = New-Case
    Write-Text "$($machine.paths.state)/features.json" '{}'
    $fakePc.services.Clear()
    Assert-Throws { Invoke-Network $machine } '^there is no service hns'
    Assert-False (Test-Path "$($machine.paths.state)/features.json")
}
Test 'a late adapter is waited for' {
    $machine = New-Case
    Set-Values $fakePc @{ routes = @(); back = 20 }
    Invoke-Network $machine
    Assert-Equal (Get-State $machine).routes $expected.routes
}
Test 'shares'' lost mappings are removed, and a provider that fails stops nothing' {
    $machine = New-Case -Stale
    $fakePc.shares = @('OK', 'Disconnected', 'Unavailable' | ForEach-Object { @{ RemotePath = "\\files\$_"; Status = $_ } })
    Invoke-Network $machine
    Assert-Equal @($fakePc.shares.Status) @('OK')
    Assert-True ($fakePc.log -contains 'removed the mapping of \\files\Disconnected, which is Disconnected')
    $machine = New-Case -Stale
    $fakePc.shares = 'no provider'
    Invoke-Network $machine
    Assert-True ($fakePc.log -contains 'mappings of shares are not cleared: no provider')
    Assert-Equal (Get-State $machine) $expected
}
foreach ($stuck in $false, $true) {
    Test "HNS that keeps an endpoint starts empty; a switch that stays behind ($stuck) has the routes" {
        $machine = New-Case -Stale
        Set-Values $fakePc @{ refuse = 'DELETE /endpoints/e1'; stuck = $stuck }
        Invoke-Network $machine
        Assert-True ($fakePc.log -contains 'HNS does not clear: HNS DELETE /endpoints/e1: The object is in use. {"Success":false,"Error":"The object is in use."}')
        Assert-Equal @($fakePc.deeds -like '* hns*') @('set hns Automatic', 'start hns', 'stop hns', 'start hns')
        Assert-Equal (Get-Content -Path $fakeFile) 'empty'
        Assert-Equal ($fakePc.log -contains 'a virtual switch stayed behind: waited 30 s in vain for the adapter to come out of the virtual switch') $stuck
        Assert-Equal (Get-State $machine).routes @($expected.routes -replace '7$', $(if ($stuck) { 12 } else { 7 }))
    }
}
Test 'where power goes at any point, the next attempt puts all right' {
    Test-Calls { $fakePc.machine = New-Case -Stale } { Invoke-Network $fakePc.machine } -Reach 'all' -Which { $args[0][$args[1] - 1] -notmatch '^(Get|New-Cim)' } -Holds {
        Assert-True ($args[0] -match 'is made to fail')
        Invoke-Network $fakePc.machine
        Assert-Equal (Get-State $fakePc.machine) $expected
    }
    Assert-True ($fakePc.calls.Count -gt 15)
}
Complete-Tests
