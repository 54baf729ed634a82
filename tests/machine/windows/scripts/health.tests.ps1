# The health task: what goes wrong after Ready is repaired, once, and told.
. "$PSScriptRoot/harness.ps1"
. "$scripts/watch-health.ps1"

$node = @{ services = @{}; started = @(); network = 'n1'; process = 100; running = @('flanneld'); priority = @{}; stopped = 0; healthy = $true; calls = @(); told = @(); start = @{}; locked = $false; sandboxes = [ordered] @{}; held = @(); policies = @() }
. "$PSScriptRoot/log-fake.ps1"
function Write-Notice {
    param(
        [string] $Message,
        [string] $Kind
    )
    $node.told += $Message
}
function Get-Service {
    param(
        [string] $Name
    )
    if ($node.services.ContainsKey($Name)) {
        New-Object PSObject -Property @{ Name = $Name; Status = $node.services[$Name] }
    }
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    $node.start[$Name] = $StartupType
}
function Start-Service {
    param(
        [string] $Name
    )
    if ($node.start[$Name] -eq 'Disabled') {
        throw "service $Name is disabled"
    }
    $node.started += $Name
    $node.calls += "start $Name"
    $node.services[$Name] = 'Running'
}
# In place of the lock between processes: held by a run, or free.
function Invoke-Alone {
    param(
        [string] $Lock,
        [int] $Milliseconds,
        [scriptblock] $Body
    )
    Assert-Equal @($Lock, $Milliseconds) @('run', 0)
    if ($node.locked) {
        return $false
    }
    & $Body | Out-Null
    $true
}
function Stop-Service {
    param(
        [string] $Name,
        [switch] $Force
    )
    $node.calls += "stop $Name"
    $node.services[$Name] = 'Stopped'
}
function Get-Process {
    param(
        [string] $Name
    )
    if ($node.running -contains $Name) {
        New-Object PSObject -Property @{ Name = $Name; PriorityClass = 'Normal' }
    }
}
function Stop-Process {
    param(
        [Parameter(ValueFromPipeline = $true)]
        [object] $InputObject,
        [switch] $Force
    )
    process {
        $node.stopped += 1
        $node.calls += "end $($InputObject.Name)"
    }
}
function Get-HnsNetworkNamed {
    param(
        [string] $Name
    )
    if ($node.network) {
        @{ Name = $Name; ID = $node.network }
    }
}
function Get-CimInstance {
    param(
        [string] $ClassName,
        [string] $Filter
    )
    Assert-Equal @($ClassName, $Filter) @('Win32_Service', "Name='hns'")
    @{ ProcessId = $node.process }
}
function Invoke-Hns {
    param(
        [string] $Method,
        [string] $Path
    )
    if ($Method -eq 'GET') {
        return $node.policies | ForEach-Object { @{ ID = $_ } }
    }
    $node.calls += "$Method $Path"
}
# crictl: sandboxes with their addresses. One that is held does not stop.
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments
    )
    $call = ($Arguments -join ' ') -replace '^--runtime-endpoint pipe ', ''
    if ($call -eq 'pods --state Ready --quiet') {
        return @($node.sandboxes.Keys)
    }
    $id = $Arguments[-1]
    if ($call -eq "inspectp --output go-template --template {{.status.network.ip}} $id") {
        return $node.sandboxes[$id]
    }
    Assert-Equal $call "stopp $id"
    if ($node.held -contains $id) {
        throw 'crictl ended with 1: deadline exceeded'
    }
    $node.calls += $call
}
function Invoke-RestMethod {
    param(
        [string] $Uri,
        [int] $TimeoutSec,
        [switch] $UseBasicParsing
    )
    if (-not $node.healthy) {
        throw 'no answer'
    }
    'ok'
}
$machine = ConvertTo-Data @{
    kubeletEndpoint = 'pipe'
    programs        = @{ crictl = 'crictl.exe' }
    paths           = @{ state = "$temp/state" }
    network         = @{ name = 'flannel.4096'; routes = @('169.254.169.254/32') }
    watch           = @{ lostRounds = 2; sickRounds = 3; logs = @{ containerd = "$temp/none.log"; kubelet = "$temp/nor-this.log"; bytes = 10 }; kubeletHealth = 'http://127.0.0.1:10248/healthz'; proxyHealth = 'http://127.0.0.1:10256/livez' }
}

Test 'services that stopped are started, running and missing ones are left alone' {
    $node.services = @{ containerd = 'Stopped'; kubelet = 'Running' }
    Repair-Services
    Assert-Equal $node.started @('containerd')
    $node.services.Remove('kubelet')
    Repair-Services
    Assert-Equal $node.started @('containerd')
    Assert-Equal $node.told.Count 1
}
Test 'a service that a stage left held, cut off later, is started all the same' {
    $node.started = @()
    $node.services = @{ containerd = 'Stopped'; kubelet = 'Stopped' }
    $node.start = @{ containerd = 'Disabled'; kubelet = 'Disabled' }
    Repair-Services
    Assert-Equal $node.started @('containerd', 'kubelet')
    Assert-Equal @($node.start.containerd, $node.start.kubelet) @('Manual', 'Manual')
}
Test 'containerd is raised above the pods, whoever started it' {
    $process = New-Object PSObject -Property @{ Name = 'containerd'; PriorityClass = 'Normal' }
    function Get-Process {
        $process
    }
    Repair-Services
    Assert-Equal $process.PriorityClass 'AboveNormal'
}
Test 'flanneld is restarted when its network stays away, and not before' {
    $memory = @{ lost = 0 }
    Repair-PodNetwork $machine 'boot-1' $memory
    $node.network = ''
    Repair-PodNetwork $machine 'boot-1' $memory
    Assert-Equal $node.stopped 0
    Repair-PodNetwork $machine 'boot-1' $memory
    Assert-Equal $node.stopped 1
    Assert-Equal $memory.lost 0
}
Test 'a network that comes back in between starts the count again; without flanneld there is nothing to restart' {
    $memory = @{ lost = 0 }
    $node.stopped = 0
    foreach ($there in '', 'n1', '') {
        $node.network = $there
        Repair-PodNetwork $machine 'boot-1' $memory
    }
    $node.running = @()
    Repair-PodNetwork $machine 'boot-1' $memory
    Repair-PodNetwork $machine 'boot-1' $memory
    Assert-Equal $node.stopped 0
}

# A node with pods, whose network the health task has seen once.
function Reset-Pods {
    Remove-Item -Recurse -Force -LiteralPath "$temp/state" -ErrorAction SilentlyContinue
    $node.running = @('flanneld', 'kube-proxy')
    $node.network = 'n1'
    $node.process = 100
    $node.policies = @('p1')
    $node.held = @()
    $node.sandboxes = [ordered] @{ a = '10.244.3.4'; host = ''; b = '10.244.3.5' }
    $node.told = @()
    Repair-PodNetwork $machine 'boot-1' @{ lost = 0 }
    $node.calls = @()
}
$restart = 'DELETE /policylists/p1', 'end kube-proxy', 'stopp a', 'stopp b'
foreach ($change in 'process', 'network') {
    Test "another $change of HNS: pods get new endpoints and kube-proxy its load balancers, once; HostProcess pods go on" {
        Reset-Pods
        $node[$change] = '200'
        $memory = @{ lost = 0 }
        Repair-PodNetwork $machine 'boot-1' $memory
        Assert-Equal $node.calls $restart
        Assert-Equal $node.told @('HNS has lost the endpoints of the pods; they are made again')
        Repair-PodNetwork $machine 'boot-1' $memory
        Assert-Equal $node.calls $restart
    }
}
Test 'the first look of a boot restarts nothing, whatever the boot before was' {
    Reset-Pods
    $node.process = 200
    Repair-PodNetwork $machine 'boot-2' @{ lost = 0 }
    Assert-Equal $node.calls @()
    $node.process = 300
    Repair-PodNetwork $machine 'boot-2' @{ lost = 0 }
    Assert-Equal $node.calls $restart
}
Test 'the task itself may have been restarted in between' {
    Reset-Pods
    $node.network = 'n2'
    Repair-PodNetwork $machine 'boot-1' @{ lost = 0 }
    Repair-PodNetwork $machine 'boot-1' @{ lost = 0 }
    Assert-Equal $node.calls $restart
}
Test 'while the network is away nothing is restarted but flanneld' {
    Reset-Pods
    $node.process = 200
    $node.network = ''
    Repair-PodNetwork $machine 'boot-1' @{ lost = 0 }
    Assert-Equal $node.calls @()
}
Test 'a sandbox that does not stop is tried again, and no other is' {
    Reset-Pods
    $node.network = 'n2'
    $node.held = @('a')
    $memory = @{ lost = 0 }
    Repair-PodNetwork $machine 'boot-1' $memory
    Assert-Equal @($node.calls | Where-Object { $_ -like 'stopp *' }) @('stopp b')
    $node.calls = @()
    $node.held = @()
    Repair-PodNetwork $machine 'boot-1' $memory
    Repair-PodNetwork $machine 'boot-1' $memory
    Assert-Equal $node.calls @('stopp a')
}
Test 'a kubelet that does not answer is restarted after some rounds, and what is left of it is ended first' {
    $memory = @{ lost = 0 }
    $node.healthy = $false
    $node.running = @('kubelet')
    $node.calls = @()
    Repair-Kubelet $machine $memory
    Repair-Kubelet $machine $memory
    Assert-Equal $node.calls @()
    Repair-Kubelet $machine $memory
    Assert-Equal $node.calls @('stop kubelet', 'end kubelet', 'start kubelet')
    Assert-Equal $memory.kubelet 0
}
Test 'a kube-proxy that does not answer is ended, and one that does not run yet is no case' {
    $memory = @{ lost = 0 }
    $node.calls = @()
    $node.running = @()
    foreach ($round in @(1, 2, 3, 4)) {
        Repair-Proxy $machine $memory
    }
    $node.running = @('kube-proxy')
    Repair-Proxy $machine $memory
    Repair-Proxy $machine $memory
    Assert-Equal $node.calls @()
    Repair-Proxy $machine $memory
    Assert-Equal $node.calls @('end kube-proxy')
}
Test 'a log over its limit is kept once and emptied under the hands of who writes it, a smaller one is left alone' {
    $path = "$temp/containerd.log"
    Limit-Log $path 10
    $writer = [IO.File]::Open($path, 'Append', 'Write', 'ReadWrite')
    try {
        foreach ($text in 'short', 'and long enough') {
            $bytes = [Text.Encoding]::ASCII.GetBytes($text)
            $writer.Write($bytes, 0, $bytes.Length)
            $writer.Flush()
            Limit-Log $path 10
            if ($text -eq 'short') {
                Assert-Equal (Test-Path "$path.1") $false
            }
        }
    }
    finally {
        $writer.Close()
    }
    Assert-Equal (Get-Content -Raw -LiteralPath "$path.1") 'shortand long enough'
    Assert-Equal (Get-Item -LiteralPath $path).Length 0
}
$routes = @{ asked = 0 }
function Repair-Routes {
    $routes.asked += 1
}
Test 'what a stage stopped is left alone while a run is at work, and looked after again behind it; routes are always' {
    function Test-Settled {
        $true
    }
    $node.started = @()
    $node.services = @{ containerd = 'Stopped' }
    $node.start = @{}
    $node.healthy = $true
    $node.network = 'n1'
    $routes.asked = 0
    $node.locked = $true
    Invoke-Round $machine 'boot-1' @{ lost = 0 }
    Assert-Equal @($node.started.Count, $routes.asked) @(0, 1)
    $node.locked = $false
    Invoke-Round $machine 'boot-1' @{ lost = 0 }
    Assert-Equal $node.started @('containerd')
    Assert-Equal $routes.asked 2
}
Test 'stages that are not through are not repaired into, but their routes are' {
    function Test-Settled {
        $false
    }
    $node.started = @()
    $node.services = @{ containerd = 'Stopped' }
    $routes.asked = 0
    Invoke-Round $machine 'boot-1' @{ lost = 0 }
    Assert-Equal @($node.started.Count, $routes.asked) @(0, 1)
}
Test 'a repair that fails keeps no other from its turn' {
    function Repair-Services {
        throw 'access is denied'
    }
    $seen = @{ logs = @(); network = $false }
    function Limit-Log {
        param(
            [string] $Path,
            [long] $Bytes
        )
        $seen.logs += $Path
        throw 'the file is in use'
    }
    function Repair-PodNetwork {
        $seen.network = $true
        throw 'HNS GET /networks/: no answer within 60000 ms'
    }
    Invoke-Repairs $machine 'boot-1' @{ lost = 0 }
    Assert-Equal $seen.logs @("$temp/none.log", "$temp/nor-this.log")
    Assert-Equal $seen.network $true
}
Complete-Tests
