# Azure's pod network: state of the boot before, the first network, the CNI configuration, and a restart when HNS has
# lost the endpoints.
$podNetwork = 'azureCni'
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/start-kube-proxy.ps1"
. "$scripts/endpoints.ps1"

$fakeAzure = @{}
. "$PSScriptRoot/log-fake.ps1"
. "$PSScriptRoot/wait-fake.ps1"
[Fenestra.Hns]::Answer = {
    param($Method, $Path, $Body)
    $fakeAzure.calls += "$Method $Path"
    Get-NetworkAnswer $Method $Path $Body
}
function Start-Sleep { Step-Adapter }
function Get-Process { }
function Get-CimInstance {
    param($ClassName, $Filter)
    Assert-Equal @($ClassName, $Filter) @('Win32_Service', "Name='hns'")
    @{ ProcessId = $fakeAzure.hns }
}
function Invoke-Program {
    param($Path, $Arguments)
    Assert-Equal @(@($Path) + $Arguments) @('shutdown.exe', '/r', '/f', '/t', '0')
    $fakeAzure.calls += 'restart'
}
Write-Text "$scripts/drain.ps1" '$fakeAzure.calls += "drain"; exit 0'
function New-Case {
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder $folder
    Write-Text "$folder/template.conflist" '{"name":"azure"}'
    Write-Text "$folder/azure-vnet.json" 'of the boot before'
    Clear-FakeHns
    Set-Values $fakeAzure @{ calls = @(); hns = 100 }
    ConvertTo-Data @{
        paths      = @{ state = "$folder/state" }
        drain      = @{ spotSeconds = 20 }
        network    = @{ routes = @('169.254.169.254/32'); conflist = "$folder/net.d/10-azure.conflist"; conflistTemplate = "$folder/template.conflist" }
        podNetwork = @{ state = @("$folder/azure-vnet.json", "$folder/none.json"); seconds = 60; first = @{ name = 'ext'; range = '192.168.255.0/30'; gateway = '192.168.255.1' } }
    }
}

Test 'a boot: what is left of the one before goes, the first network comes, then routes, then the configuration' {
    $machine = New-Case
    Initialize-Network $machine
    Assert-False (Test-Path -LiteralPath $machine.podNetwork.state[0])
    Assert-Equal @($hns.networks | ForEach-Object { "$($_.Name) $($_.Type)" }) @('nat NAT', 'ext L2Bridge')
    Assert-Equal @($table.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" }) @('0.0.0.0/0 12', '169.254.169.254/32 12')
    Assert-Equal (Read-Text $machine.network.conflist) '{"name":"azure"}'
    $fakeAzure.calls = @()
    Initialize-Network $machine
    Assert-Equal $fakeAzure.calls @()
}
Test 'without a default route the adapter is waited for, and named' {
    $machine = New-Case
    $table.routes = @()
    $hns.back = 3
    Initialize-Network $machine
    Assert-Equal @($hns.networks | Where-Object { $_.Name -eq 'ext' }).Count 1
}
Test 'on a switch that stayed behind the network is made without a name' {
    $machine = New-Case
    $hns.switch = $true
    $table.routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)')
    Initialize-Network $machine
    Assert-Equal @($hns.networks | Where-Object { $_.Name -eq 'ext' }).Count 1
}
Test 'a machine is restarted for HNS three times a day at most: then it stays drained, and says so; a boot begins anew' {
    $machine = New-Case
    New-Folder (Split-Path -Parent $machine.network.conflist)
    Write-Text $machine.network.conflist 'here'
    Repair-PodNetwork $machine 'boot-1' @{}
    $fakeAzure.hns = 200
    foreach ($time in 1, 2, 3) { Repair-PodNetwork $machine 'boot-1' @{ calm = New-Deadline 0 } }
    Assert-Throws { Repair-PodNetwork $machine 'boot-1' @{ calm = New-Deadline 0 } } 'after three restarts of the machine today$'
    Assert-Equal $fakeAzure.calls @('drain', 'restart', 'drain', 'restart', 'drain', 'restart', 'drain')
    Repair-PodNetwork $machine 'boot-2' @{ calm = New-Deadline 0 }
    Assert-Equal $fakeAzure.calls.Count 7
}
Complete-Tests
