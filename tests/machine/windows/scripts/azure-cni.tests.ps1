# Azure's pod network: state of the boot before, the first network, the CNI configuration, and a restart when HNS has
# lost the endpoints.
$podNetwork = 'azureCni'
. "$PSScriptRoot/fakes.ps1"
. "$scripts/start-kube-proxy.ps1"
. "$scripts/endpoints.ps1"

Write-Text "$scripts/drain.ps1" 'Add-Deed drain; exit 0'
function New-Case {
    $machine = New-Data @'
paths.state FOLDER/state
drain.spotSeconds 20
network.routes[] 169.254.169.254/32
network.conflist FOLDER/net.d/10-azure.conflist
network.conflistTemplate FOLDER/template.conflist
podNetwork.state[] FOLDER/azure-vnet.json, FOLDER/none.json
podNetwork.seconds 60
podNetwork.first {"name":"ext","range":"192.168.255.0/30","gateway":"192.168.255.1"}
'@
    Write-Text $machine.network.conflistTemplate '{"name":"azure"}'
    Write-Text $machine.podNetwork.state[0] 'of the boot before'
    Reset-Pc @{ services = @{ hns = @{ status = 'Running'; id = 100 } } }
    $machine
}

Test 'a boot: old state goes, the first network comes, then routes, then the configuration' {
    $machine = New-Case
    Initialize-Network $machine
    Assert-False (Test-Path $machine.podNetwork.state[0])
    Assert-Equal @($fakePc.networks | ForEach-Object { "$($_.Name) $($_.Type)" }) @('nat NAT', 'ext L2Bridge')
    Assert-Equal @($fakePc.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" }) @('0.0.0.0/0 12', '169.254.169.254/32 12')
    Assert-Equal (Read-Text $machine.network.conflist) '{"name":"azure"}'
    $fakePc.calls = @()
    Initialize-Network $machine
    Assert-Equal $fakePc.calls @()
    # Without its configuration too what the plug-in remembers of this boot's pods stays.
    Write-Text $machine.podNetwork.state[0] 'of this boot'
    Remove-Item $machine.network.conflist
    Initialize-Network $machine
    Assert-Equal @((Test-Path $machine.podNetwork.state[0]), (Test-Path $machine.network.conflist), $fakePc.networks.Count) @($true, $true, 2)
}
foreach ($case in @{ title = 'without a default route the adapter is waited for, and named'; pc = @{ routes = @(); back = 3 } }, @{ title = 'on a switch that stayed behind the network is made without a name'; pc = @{ switch = $true; routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)') } }) {
    Test $case.title {
        $machine = New-Case
        Set-Values $fakePc $case.pc
        Initialize-Network $machine
        Assert-Equal @($fakePc.networks | Where-Object { $_.Name -eq 'ext' }).Count 1
    }
}
Test 'a machine restarts for HNS thrice a day, then stays drained; a boot begins anew' {
    $machine = New-Case
    New-Folder (Split-Path -Parent $machine.network.conflist)
    Write-Text $machine.network.conflist 'here'
    foreach ($boot in 1, 2, 3) {
        Repair-PodNetwork $machine "boot-$boot" @{}
        $fakePc.services.hns.id += 100
        # One that has not come is none.
        foreach ($time in 1, 2) { Repair-PodNetwork $machine "boot-$boot" @{ calm = New-Deadline 0 } }
    }
    Repair-PodNetwork $machine 'boot-4' @{}
    $fakePc.services.hns.id = 200
    Assert-Throws { Repair-PodNetwork $machine 'boot-4' @{ calm = New-Deadline 0 } } 'after three restarts of the machine today$'
    Repair-PodNetwork $machine 'boot-5' @{ calm = New-Deadline 0 }
    Assert-Equal $fakePc.deeds (@('drain', 'shutdown.exe /r /f /t 0 /c fenestra') * 6 + 'drain')
    # Nothing is done uncounted; neither a drain that fails nor a restart that is refused ends it.
    $machine = New-Case
    Write-Text "$scripts/drain.ps1" 'Add-Deed drain; throw 503'
    Write-Text $machine.network.conflist 'here'
    Repair-PodNetwork $machine 'boot-1' @{}
    $fakePc.services.hns.id = 200
    Assert-Throws { function Write-Text { throw 'full' }; Repair-PodNetwork $machine 'boot-1' @{ calm = New-Deadline 0 } } '^full$'
    Set-Values $fakePc @{ call = 'shutdown.exe*'; way = 'throws'; times = 1 }
    foreach ($time in 1, 2) { try { Repair-PodNetwork $machine 'boot-1' @{ calm = New-Deadline 0 } } catch { Add-Deed failed } }
    Assert-Equal $fakePc.deeds @('drain', 'failed', 'drain', 'shutdown.exe /r /f /t 0 /c fenestra')
}
Complete-Tests
