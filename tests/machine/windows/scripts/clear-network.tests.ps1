# The network of a boot: stale state, an adapter that comes late, a service that does not let go, repeats, and power
# that goes at any point.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/state.ps1"
. "$scripts/hns.ps1"
. "$scripts/routes.ps1"

$env:ProgramData = $temp
$fakeData = "$temp/Microsoft/Windows/HNS/HNS.data"
New-Folder (Split-Path -Parent $fakeData)

function Write-Log { $hns.log += $args[0] }
. "$PSScriptRoot/wait-fake.ps1"
# Counts what is done to the machine. False once the power is gone.
function Test-Power {
    param($Call)
    $hns.steps += 1
    if ($hns.cut -gt 0 -and $hns.steps -ge $hns.cut) { return $false }
    $hns.calls += $Call
    $true
}
function Add-Step {
    param($Call)
    if (-not (Test-Power $Call)) { throw 'cut off' }
}
# A pause in which the adapter may come, or come back.
function Start-Sleep {
    Add-Step 'pause'
    $hns.ticks += 1
    Step-Adapter
}
function Set-Service {
    param($Name, $StartupType)
    Add-Step "Set $Name $StartupType"
}
function Get-Service {
    param($Name)
    if (-not $hns.missing) { @{ Name = $Name } }
}
# In place of those of services.ps1, which stage.ps1 has read in. HNS starts with what its file holds.
function Start-Within {
    param($Name)
    Add-Step "Start $Name"
    if (-not (Test-Path -LiteralPath $fakeData)) {
        $hns.policylists = @()
        $hns.endpoints = @()
        $hns.networks = @()
        if ($hns.switch -and -not $hns.stuck) { Set-Switch $false }
        Write-Text $fakeData 'empty'
    }
}
function Restart-Hns {
    param([switch] $Empty)
    Assert-Equal "$Empty" 'True'
    Add-Step 'Stop hns'
    Remove-Item -Force -LiteralPath $fakeData -ErrorAction SilentlyContinue
    Start-Within hns
}
function Get-NetFirewallRule {
    param($Name)
    $hns.rules | Where-Object { $_.Name -eq $Name }
}
function Remove-NetFirewallRule {
    process {
        $rule = $_
        Add-Step "Remove-NetFirewallRule $($rule.Name)"
        $hns.rules = @($hns.rules | Where-Object { $_.Name -ne $rule.Name })
    }
}
function New-NetFirewallRule {
    param(
        $Name,
        $DisplayName,
        $Direction,
        $Action,
        $Profile,
        $Protocol,
        $LocalPort
    )
    Add-Step "New-NetFirewallRule $Name"
    $hns.rules += @{ Name = $Name; text = "$Direction $Action $Profile $Protocol $LocalPort" }
}
# Throws where the module's provider does not answer.
function Get-SmbGlobalMapping {
    if ($hns.shares -is [string]) { throw $hns.shares }
    $hns.shares
}
function Remove-SmbGlobalMapping {
    param($RemotePath, [switch] $Force)
    if (-not $Force) { throw 'it asks' }
    $hns.shares = @($hns.shares | Where-Object { $_.RemotePath -ne $RemotePath })
}
# Answers as HNS does, as long as it is awake and there is power.
[Fenestra.Hns]::Answer = {
    param($Method, $Path, $Body)
    $call = "$Method $Path"
    if ($hns.ticks -lt $hns.awake -or -not (Test-Power $call)) { return '' }
    if ($call -eq $hns.refuse) {
        return '{"Success":false,"Error":"The object is in use."}'
    }
    Get-NetworkAnswer $Method $Path $Body
}

# A machine that has just started: bare, or with what the boot before left.
function New-Case {
    param([switch] $Stale)
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/store"
    Write-Text $fakeData 'state'
    Clear-FakeHns
    Set-Values $hns @{ rules = @(); calls = @(); log = @(); steps = 0; cut = 0; ticks = 0; awake = 0; refuse = ''; missing = $false; shares = @() }
    if ($Stale) {
        $hns.policylists = @(@{ ID = 'p1' }, @{ ID = 'p2' })
        $hns.endpoints = @(@{ ID = 'e1'; Name = 'pod' }, @{ ID = 'e2'; Name = 'pod' })
        $hns.networks += @{ ID = 'n1'; Name = 'flannel.4096'; Type = 'Overlay' }
        $hns.switch = $true
        $table.routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)')
        $hns.rules = @(@{ Name = 'fenestra-kubelet'; text = 'Inbound Allow Any TCP 1' })
        Write-Text "$folder/cni.conflist" 'old'
        Write-Text "$folder/subnet.env" 'old'
        Set-Content -Path "$folder/store/10.244.3.2" -Value @('fenestra-source-vip', 'source-vip')
        Set-Content -Path "$folder/store/10.244.3.9" -Value @('a-pod', 'eth0')
        Write-Text "$folder/store/last_reserved_ip.0" '10.244.3.9'
    }
    ConvertTo-Data @{
        paths   = @{ state = $folder }
        network = @{
            name         = 'flannel.4096'
            routes       = @('169.254.169.254/32', '169.254.169.123/32')
            firewall     = @(@{ name = 'fenestra-kubelet'; protocol = 'TCP'; port = 10250 }, @{ name = 'fenestra-vxlan'; protocol = 'UDP'; port = 4789 })
            conflist     = "$folder/cni.conflist"
            subnetFile   = "$folder/subnet.env"
            reservations = "$folder/store"
            sourceVip    = @{ container = 'fenestra-source-vip' }
        }
    }
}
function Invoke-Network {
    param($Machine)
    & "$scripts/clear-network.ps1" -Machine $Machine
}
# All that the stage is for, in a form that can be compared.
function Get-State {
    param($Machine)
    [ordered] @{
        endpoints    = $hns.endpoints.Count + $hns.policylists.Count
        networks     = @($hns.networks.Name | Sort-Object)
        routes       = @($table.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        kept         = @($table.kept | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        rules        = @($hns.rules | ForEach-Object { "$($_.Name) $($_.text)" } | Sort-Object)
        files        = @(Get-ChildItem -File -Recurse -LiteralPath (Split-Path -Parent $Machine.network.reservations) | ForEach-Object { $_.Name } | Sort-Object)
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
# What flanneld finds after the stage: it can make its network, or HNS refuses the name of the adapter.
function Assert-Flanneld {
    Invoke-Flanneld 'flannel.4096' '10.244.3.0/24'
    Assert-Equal @($hns.networks | Where-Object { $_.Name -eq 'flannel.4096' }).Count 1
}

Test 'a bare machine gets no network, so that flanneld can make its own on the adapter; its services are held before' {
    $machine = New-Case
    Invoke-Network $machine
    $state = Get-State $machine
    Assert-Equal $state.networks $expected.networks
    Assert-Equal $state.routes $expected.routes
    Assert-Equal $state.rules $expected.rules
    Assert-Equal @($hns.calls -like 'POST *') @()
    Assert-Equal @($hns.calls -like '* hns*') @('Set hns Automatic', 'Start hns')
    Assert-Flanneld
}
Test 'what the last boot left is cleared, but for the address of kube-proxy and the network of Windows itself, and a repeat changes nothing' {
    $machine = New-Case -Stale
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($hns.calls -like 'DELETE *') @('DELETE /policylists/p1', 'DELETE /policylists/p2', 'DELETE /endpoints/e1', 'DELETE /endpoints/e2', 'DELETE /networks/n1')
    $hns.calls = @()
    $table.removed = @()
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($hns.calls | Where-Object { $_ -like 'POST *' -or $_ -like 'DELETE *' }) @()
    Assert-Equal $table.removed @()
    Assert-Flanneld
}
Test 'features that a restart of Windows has rolled back are installed again' {
    $machine = New-Case
    Write-Text "$($machine.paths.state)/features.json" '{}'
    $hns.missing = $true
    Assert-Throws { Invoke-Network $machine } '^there is no service hns'
    Assert-False (Test-Path "$($machine.paths.state)/features.json")
}
Test 'an adapter that comes late is waited for, and one that does not come is told' {
    $machine = New-Case
    $table.routes = @()
    $hns.back = 20
    Invoke-Network $machine
    Assert-Equal (Get-State $machine).routes $expected.routes
    $machine = New-Case
    $table.routes = @()
    $hns.back = 1000
    Assert-Throws { Invoke-Network $machine } '^waited 180 s in vain for an adapter with a default route$'
}
Test 'HNS that has just started is given time to answer, and keeps its file' {
    $machine = New-Case -Stale
    $hns.awake = 5
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal (Get-Content -Path $fakeData) 'state'
}
Test 'mappings of shares that did not come back are removed, and a provider that fails stops nothing' {
    $machine = New-Case -Stale
    $hns.shares = @('OK', 'Disconnected', 'Unavailable' | ForEach-Object { @{ RemotePath = "\\files\$_"; Status = $_ } })
    Invoke-Network $machine
    Assert-Equal @($hns.shares.Status) @('OK')
    Assert-Equal $hns.log[0] 'removed the mapping of \\files\Disconnected, which is Disconnected'
    $machine = New-Case -Stale
    $hns.shares = 'no provider'
    Invoke-Network $machine
    Assert-Equal $hns.log[0] 'mappings of shares are not cleared: no provider'
    Assert-Equal (Get-State $machine) $expected
}
Test 'HNS that does not let go of an endpoint is started with an empty file' {
    $machine = New-Case -Stale
    $hns.refuse = 'DELETE /endpoints/e1'
    Invoke-Network $machine
    Assert-Equal $hns.log[0] 'HNS does not clear: HNS DELETE /endpoints/e1: The object is in use. {"Success":false,"Error":"The object is in use."}'
    Assert-Equal @($hns.calls -like '* hns*') @('Set hns Automatic', 'Start hns', 'Stop hns', 'Start hns')
    Assert-Equal (Get-Content -Path $fakeData) 'empty'
    Assert-Equal (Get-State $machine).routes $expected.routes
    Assert-Flanneld
}
Test 'a virtual switch that stays behind without its network fails nothing here: it is told, and the routes lead over it' {
    $machine = New-Case -Stale
    $hns.refuse = 'DELETE /endpoints/e1'
    $hns.stuck = $true
    Invoke-Network $machine
    Assert-Equal $hns.log[1] 'a virtual switch stayed behind: waited 30 s in vain for the adapter to come out of the virtual switch'
    Assert-Equal (Get-State $machine).routes @('0.0.0.0/0 12', '169.254.169.123/32 12', '169.254.169.254/32 12')
}
Test 'power that goes at any point leaves nothing that the next attempt does not put right' {
    $machine = New-Case -Stale
    Invoke-Network $machine
    $steps = $hns.steps
    if ($steps -lt 15) { throw "only $steps steps" }
    for ($cut = 1; $cut -le $steps; $cut += 1) {
        $machine = New-Case -Stale
        $hns.cut = $cut
        Assert-Throws { Invoke-Network $machine } '^(cut off|HNS .*: no answer)$'
        $hns.cut = 0
        try {
            Invoke-Network $machine
            Assert-Equal (Get-State $machine) $expected
        }
        catch {
            throw "cut off at step $cut of ${steps}: $_"
        }
    }
}
Complete-Tests
