# flanneld's pod: the network on a switch that stayed behind, the routes that its making cost, and when the CNI
# configuration appears.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/start-flanneld.ps1"

function New-Case {
    $machine = New-Data @'
flanneld.kubeconfig flanneld.conf
flanneld.seconds 300
network.routes[] 169.254.169.254/32, 169.254.169.123/32
'@
    Write-Text $machine.programs.kubectl 'program'
    Write-Text $machine.network.conflistTemplate '{"name":"flannel.4096"}'
    Reset-Pc @{
        programs = @{ 'kubectl.exe' = {
            Assert-Equal "$($args[0])" '--kubeconfig flanneld.conf --request-timeout 10s get node i-1 -o jsonpath={.spec.podCIDR}'
            '10.244.3.0/24'
        } }
    }
    $machine
}
# A switch whose network is gone, as after a restart of HNS that did not clean up.
function Set-Stuck {
    Set-Values $fakePc @{ switch = $true; stuck = $true; routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)') }
}
$i1 = ConvertTo-Data @{ name = 'i-1' }

Test 'on a switch that stayed behind flanneld keeps its ready network, as its next start does' {
    $machine = New-Case
    Set-Stuck
    Restore-Network $machine $i1
    $made = @($fakePc.networks | Where-Object { $_.Name -eq 'flannel.4096' })
    Assert-Equal @($made.Count, $made[0].Type, $made[0].Subnets[0].AddressPrefix, $made[0].Subnets[0].GatewayAddress) @(1, 'Overlay', '10.244.3.0/24', '10.244.3.1')
    Assert-Equal @($made[0].Subnets[0].Policies[0].Type, $made[0].Subnets[0].Policies[0].VSID) @('VSID', 4096)
    $fakePc.calls = @()
    Invoke-Flanneld
    Restore-Network $machine $i1
    Assert-Equal @($fakePc.calls -like 'HNS*') @('HNS GET networks', 'HNS GET networks')
}
Test 'the CNI configuration comes when the routes are behind the switch' {
    $machine = New-Case
    $fakePc.routes += New-Route '169.254.169.254/32' 7 '10.0.0.1'
    Invoke-Flanneld
    Assert-Equal @($fakePc.routes) @()
    Complete-Network $machine.network
    Assert-Equal @($fakePc.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" }) @('0.0.0.0/0 12', '169.254.169.254/32 12', '169.254.169.123/32 12')
    Assert-Equal @($fakePc.kept) @()
    Assert-Equal ([IO.File]::ReadAllText($machine.network.conflist)) '{"name":"flannel.4096"}'
}
Test 'routes that cannot be repaired keep no node from being Ready' {
    $machine = New-Case
    Complete-Network $machine.network
    Assert-Equal $fakePc.log @('waited 60 s in vain for the default route behind the virtual switch')
    Assert-True (Test-Path $machine.network.conflist)
}
Test 'the network is there when flanneld and HNS say so; silence is asked again' {
    $machine = New-Case
    Assert-False (Test-Network $machine.network)
    Write-Text $machine.network.subnetFile 'FLANNEL_SUBNET=10.244.3.1/24'
    Assert-False (Test-Network $machine.network)
    Invoke-Flanneld
    Set-Values $fakePc @{ call = 'HNS*'; way = 'nothing'; times = 1 }
    Assert-False (Test-Network $machine.network)
    Assert-True (Test-Network $machine.network)
}
Complete-Tests
