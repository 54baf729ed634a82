# The network of a boot: stale state, an adapter that comes late, a service that does not let go, repeats, and power that goes at any point.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/lib.ps1"

$env:ProgramData = $temp
$data = "$temp/Microsoft/Windows/HNS/HNS.data"
New-Folder (Split-Path -Parent $data)
$hns = @{}

function Write-Log {
    param(
        [string] $Message
    )
    $hns.log += $Message
}
# The time of these tests is the sum of the pauses.
function Wait-Until {
    param(
        [scriptblock] $Condition,
        [int] $Seconds,
        [string] $What,
        [int] $PauseSeconds = 2
    )
    for ($spent = 0; $true; $spent += $PauseSeconds) {
        $value = & $Condition
        if ($value) {
            return $value
        }
        if ($spent -ge $Seconds) {
            throw "waited $Seconds s in vain for $What"
        }
        Start-Sleep -Seconds $PauseSeconds
    }
}
# Counts what is done to the machine. False once the power is gone.
function Test-Power {
    param(
        [string] $Call
    )
    $hns.steps += 1
    if ($hns.cut -gt 0 -and $hns.steps -ge $hns.cut) {
        return $false
    }
    $hns.calls += $Call
    $true
}
function Add-Step {
    param(
        [string] $Call
    )
    if (-not (Test-Power $Call)) {
        throw 'cut off'
    }
}
# A pause in which the adapter may come, or come back behind the virtual switch.
function Start-Sleep {
    Add-Step 'pause'
    $hns.ticks += 1
    $default = @($table.routes | Where-Object { $_.DestinationPrefix -eq '0.0.0.0/0' })
    if ($hns.ticks -lt $hns.arrives -or $default.Count -gt 0) {
        return
    }
    $external = @($hns.networks | Where-Object { $_.Name -eq 'External' })
    if ($external.Count -eq 0) {
        $table.routes += New-Route '0.0.0.0/0' 7 '10.0.0.1'
        return
    }
    $table.routes += New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)'
    if ($hns.bound) {
        $external[0].ManagementIP = '10.0.0.7'
    }
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    Add-Step "Set-Service $Name $StartupType"
}
function Stop-Service {
    param(
        [string[]] $Name,
        [switch] $Force
    )
    Add-Step "Stop-Service $Name"
}
# HNS starts with what its file holds.
function Start-Service {
    param(
        [string] $Name
    )
    Add-Step "Start-Service $Name"
    if (-not (Test-Path -LiteralPath $data)) {
        $hns.policylists = @()
        $hns.endpoints = @()
        $hns.networks = @()
        Set-Content -Path $data -Value 'empty'
    }
}
function Get-NetFirewallRule {
    param(
        [string] $Name
    )
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
        [string] $Name,
        [string] $DisplayName,
        [string] $Direction,
        [string] $Action,
        [string] $Profile,
        [string] $Protocol,
        [int] $LocalPort
    )
    Add-Step "New-NetFirewallRule $Name"
    $hns.rules += @{ Name = $Name; text = "$Direction $Action $Profile $Protocol $LocalPort" }
}
# Answers as HNS does. Making or deleting the external network cuts every route for some pauses.
function Get-HnsAnswer {
    param(
        [string] $Method,
        [string] $Path,
        [string] $Body
    )
    $call = "$Method $Path"
    if ($hns.ticks -lt $hns.awake -or -not (Test-Power $call)) {
        return ''
    }
    if ($call -eq $hns.refuse) {
        return '{"Success":false,"Error":"The object is in use."}'
    }
    $kind, $id = $Path.Trim('/').Split('/')
    if ($Method -eq 'GET') {
        return @{ Success = $true; Output = @($hns[$kind]) } | ConvertTo-Json -Depth 5 -Compress
    }
    if ($Method -eq 'POST') {
        $hns.made = $Body | ConvertFrom-Json
        $hns.networks += @{ ID = "made-$($hns.steps)"; Name = $hns.made.Name; ManagementIP = '' }
        $cuts = $true
    }
    else {
        $cuts = @($hns.networks | Where-Object { $_.ID -eq $id -and $_.Name -eq 'External' }).Count -gt 0
        $hns[$kind] = @($hns[$kind] | Where-Object { $_.ID -ne $id })
    }
    if ($cuts) {
        $table.routes = @()
        $hns.arrives = $hns.ticks + 2
    }
    '{"Success":true}'
}
$answer = {
    param($Method, $Path, $Body)
    Get-HnsAnswer $Method $Path $Body
}
[Fenestra.Hns]::Answer = $answer

# A machine that has just started: bare, or with what the boot before left.
function New-Case {
    param(
        [switch] $Stale
    )
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/store"
    Set-Content -Path $data -Value 'state'
    $table.routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1')
    $table.kept = @()
    $clear = @{ policylists = @(); endpoints = @(); networks = @(@{ ID = 'n0'; Name = 'nat'; ManagementIP = '' }); rules = @(); calls = @(); log = @(); steps = 0; cut = 0; ticks = 0; arrives = 0; awake = 0; refuse = ''; bound = $true; made = $null }
    foreach ($name in $clear.Keys) {
        $hns[$name] = $clear[$name]
    }
    if ($Stale) {
        $hns.policylists = @(@{ ID = 'p1' }, @{ ID = 'p2' })
        $hns.endpoints = @(@{ ID = 'e1'; Name = 'pod' }, @{ ID = 'e2'; Name = 'pod' })
        $hns.networks += @{ ID = 'n1'; Name = 'flannel.4096'; ManagementIP = '10.0.0.7' }
        $hns.rules = @(@{ Name = 'fenestra-kubelet'; text = 'Inbound Allow Any TCP 1' })
        Set-Content -Path "$folder/cni.conflist" -Value 'old'
        Set-Content -Path "$folder/subnet.env" -Value 'old'
        Set-Content -Path "$folder/store/10.244.3.2" -Value @('fenestra-source-vip', 'source-vip')
        Set-Content -Path "$folder/store/10.244.3.9" -Value @('a-pod', 'eth0')
        Set-Content -Path "$folder/store/last_reserved_ip.0" -Value '10.244.3.9'
    }
    ConvertTo-Data @{
        network = @{
            name         = 'flannel.4096'
            external     = @{ name = 'External'; prefix = '192.168.255.0/30'; gateway = '192.168.255.1'; vsid = 9999 }
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
    param(
        [object] $Machine
    )
    & "$scripts/stage-network.ps1" -Machine $Machine
}
# All that the stage is for, in a form that can be compared.
function Get-State {
    param(
        [object] $Machine
    )
    [ordered] @{
        endpoints    = $hns.endpoints.Count + $hns.policylists.Count
        networks     = @($hns.networks | ForEach-Object { "$($_.Name) $($_.ManagementIP)" } | Sort-Object)
        routes       = @($table.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        kept         = @($table.kept | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex)" } | Sort-Object)
        rules        = @($hns.rules | ForEach-Object { "$($_.Name) $($_.text)" } | Sort-Object)
        files        = @(Get-ChildItem -File -Recurse -LiteralPath (Split-Path -Parent $Machine.network.reservations) | ForEach-Object { $_.Name } | Sort-Object)
    }
}
$expected = [ordered] @{
    endpoints = 0
    networks  = @('External 10.0.0.7', 'nat ')
    routes    = @('0.0.0.0/0 12', '169.254.169.123/32 12', '169.254.169.254/32 12')
    kept      = @('169.254.169.123/32 12', '169.254.169.254/32 12')
    rules     = @('fenestra-kubelet Inbound Allow Any TCP 10250', 'fenestra-vxlan Inbound Allow Any UDP 4789')
    files     = @('10.244.3.2', 'last_reserved_ip.0')
}

Test 'a bare machine gets the throw-away network on the adapter of its default route' {
    $machine = New-Case
    Invoke-Network $machine
    $state = Get-State $machine
    Assert-Equal $state.networks $expected.networks
    Assert-Equal $state.routes $expected.routes
    Assert-Equal $state.rules $expected.rules
    Assert-Equal @($hns.made.Type, $hns.made.Name, $hns.made.NetworkAdapterName) @('Overlay', 'External', 'nic7')
    $subnet = $hns.made.Subnets[0]
    Assert-Equal @($subnet.AddressPrefix, $subnet.GatewayAddress) @('192.168.255.0/30', '192.168.255.1')
    Assert-Equal @($subnet.Policies[0].Type, $subnet.Policies[0].VSID) @('VSID', 9999)
}
Test 'services are not the stage''s own matter: they are held before it runs' {
    Invoke-Network (New-Case)
    Assert-Equal @($hns.calls | Where-Object { $_ -like '*-Service *' }) @('Set-Service hns Automatic', 'Start-Service hns')
}
Test 'what the last boot left is cleared, but for the address of kube-proxy and the networks that stay' {
    $machine = New-Case -Stale
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($hns.calls | Where-Object { $_ -like 'DELETE *' }) @('DELETE /policylists/p1', 'DELETE /policylists/p2', 'DELETE /endpoints/e1', 'DELETE /endpoints/e2', 'DELETE /networks/n1')
}
Test 'the throw-away network is made after the clearing, and before the routes are repaired' {
    $machine = New-Case -Stale
    $table.routes += New-Route '169.254.169.254/32' 7 '10.0.0.1'
    Invoke-Network $machine
    $calls = @($hns.calls)
    Assert-Equal ([Array]::IndexOf($calls, 'POST /networks/') -gt [Array]::IndexOf($calls, 'DELETE /networks/n1')) $true
    Assert-Equal (Get-State $machine).routes $expected.routes
}
Test 'an adapter that comes late is waited for' {
    $machine = New-Case
    $table.routes = @()
    $hns.arrives = 20
    Invoke-Network $machine
    Assert-Equal $hns.made.NetworkAdapterName 'nic7'
    Assert-Equal (Get-State $machine).routes $expected.routes
}
Test 'an adapter that does not come is told, and nothing is made' {
    $machine = New-Case
    $table.routes = @()
    $hns.arrives = 1000
    Assert-Throws { Invoke-Network $machine } '^waited 180 s in vain for an adapter with a default route$'
    Assert-Equal $hns.made $null
}
Test 'a repeat changes nothing and makes no second network' {
    $machine = New-Case -Stale
    Invoke-Network $machine
    $hns.calls = @()
    $table.removed = @()
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($hns.calls | Where-Object { $_ -like 'POST *' -or $_ -like 'DELETE *' }) @()
    Assert-Equal $table.removed @()
}
Test 'HNS that has just started is given time to answer, and keeps its state' {
    $machine = New-Case -Stale
    $hns.networks += @{ ID = 'n2'; Name = 'External'; ManagementIP = '10.0.0.7' }
    $table.routes = @(New-Route '0.0.0.0/0' 12 '10.0.0.1' 'vEthernet (nic7)')
    $hns.awake = 5
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal $hns.made $null
    Assert-Equal (Get-Content -Path $data) 'state'
}
Test 'HNS that does not let go of an endpoint is started with an empty file' {
    $machine = New-Case -Stale
    $hns.refuse = 'DELETE /endpoints/e1'
    Invoke-Network $machine
    Assert-Equal $hns.log[0] 'HNS does not clear: HNS DELETE /endpoints/e1: The object is in use. {"Success":false,"Error":"The object is in use."}'
    Assert-Equal @($hns.calls | Where-Object { $_ -like '*-Service *' }) @('Set-Service hns Automatic', 'Start-Service hns', 'Stop-Service hns', 'Start-Service hns')
    Assert-Equal (Get-Content -Path $data) 'empty'
    $state = Get-State $machine
    Assert-Equal $state.networks @('External 10.0.0.7')
    Assert-Equal $state.routes $expected.routes
}
Test 'a throw-away network that never gets its address is deleted, and the next attempt makes it anew' {
    $machine = New-Case -Stale
    $hns.networks += @{ ID = 'old'; Name = 'External'; ManagementIP = '' }
    Assert-Throws { Invoke-Network $machine } '^waited 120 s in vain for the external network to get its address$'
    Assert-Equal @($hns.networks | ForEach-Object { $_.Name }) @('nat')
    Invoke-Network $machine
    Assert-Equal (Get-State $machine) $expected
}
Test 'HNS that is silent for a moment while the address is waited for does not cost the network' {
    $machine = New-Case -Stale
    $quiet = @{ left = 2 }
    [Fenestra.Hns]::Answer = {
        param($Method, $Path, $Body)
        if ($hns.made -and $quiet.left -gt 0) {
            $quiet.left -= 1
            return ''
        }
        Get-HnsAnswer $Method $Path $Body
    }
    try {
        Invoke-Network $machine
    }
    finally {
        [Fenestra.Hns]::Answer = $answer
    }
    Assert-Equal $quiet.left 0
    Assert-Equal (Get-State $machine) $expected
    Assert-Equal @($hns.calls | Where-Object { $_ -like 'POST *' -or $_ -like 'DELETE /networks/made*' }) @('POST /networks/')
}
Test 'power that goes at any point leaves nothing that the next attempt does not mend' {
    $machine = New-Case -Stale
    Invoke-Network $machine
    $steps = $hns.steps
    if ($steps -lt 15) {
        throw "only $steps steps"
    }
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
