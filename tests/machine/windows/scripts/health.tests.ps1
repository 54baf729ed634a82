# The health task: what goes wrong after Ready is repaired, once, and told.
. "$PSScriptRoot/harness.ps1"
. "$scripts/watch-health.ps1"

$fakeNode = @{ status = 200; task = 'Ready'; hangs = $false; services = @{}; started = @(); network = 'n1'; process = 100; running = @('flanneld'); priority = @{}; stopped = 0; healthy = $true; calls = @(); start = @{}; locked = $false; sandboxes = [ordered] @{}; held = @(); policies = @() }
. "$PSScriptRoot/log-fake.ps1"
function Get-Service {
    param([string] $Name)
    if ($fakeNode.services.ContainsKey($Name)) {
        New-Object PSObject -Property @{ Name = $Name; Status = $fakeNode.services[$Name] }
    }
}
function Set-Service {
    param([string] $Name, [string] $StartupType)
    $fakeNode.start[$Name] = $StartupType
}
# In place of those that services.tests.ps1 is about.
function Start-Within {
    param([string] $Name)
    if ($fakeNode.start[$Name] -eq 'Disabled') { throw "service $Name is disabled" }
    $fakeNode.started += $Name
    $fakeNode.calls += "start $Name"
    $fakeNode.services[$Name] = 'Running'
}
# In place of the lock between processes: held by a run, or free.
function Invoke-Alone {
    param([string] $Lock, [int] $Milliseconds, [scriptblock] $Body)
    Assert-Equal @($Lock, $Milliseconds) @('run', 0)
    if ($fakeNode.locked) { return $false }
    & $Body | Out-Null
    $true
}
function Stop-Within {
    param([string] $Name)
    $fakeNode.calls += "stop $Name"
    $fakeNode.services[$Name] = 'Stopped'
}
function Get-Process {
    param([string] $Name)
    if ($fakeNode.running -contains $Name) {
        New-Object PSObject -Property @{ Name = $Name; PriorityClass = 'Normal' }
    }
}
function Stop-Process {
    param([Parameter(ValueFromPipeline = $true)] [object] $InputObject, [switch] $Force)
    process {
        $fakeNode.stopped += 1
        $fakeNode.calls += "end $($InputObject.Name)"
    }
}
function Get-HnsNetworkNamed {
    param([string] $Name)
    if ($fakeNode.network) {
        @{ Name = $Name; ID = $fakeNode.network }
    }
}
function Get-CimInstance {
    param([string] $ClassName, [string] $Filter)
    Assert-Equal @($ClassName, $Filter) @('Win32_Service', "Name='hns'")
    @{ ProcessId = $fakeNode.process }
}
function Invoke-Hns {
    param([string] $Method, [string] $Path)
    if ($fakeNode.hangs) {
        throw "HNS GET ${Path}: no answer within 10000 ms"
    }
    if ($Method -eq 'GET') {
        return $fakeNode.policies | ForEach-Object { @{ ID = $_ } }
    }
    $fakeNode.calls += "$Method $Path"
}
# crictl: sandboxes with their addresses. One that is held does not stop.
function Invoke-Program {
    param([string] $Path, [string[]] $Arguments)
    $call = ($Arguments -join ' ') -replace '^--runtime-endpoint pipe ', ''
    if ($call -eq 'pods --state Ready --quiet') { return @($fakeNode.sandboxes.Keys) }
    $id = $Arguments[-1]
    if ($call -eq "inspectp --output go-template --template {{.status.network.ip}} $id") {
        return $fakeNode.sandboxes[$id]
    }
    Assert-Equal $call "stopp $id"
    if ($fakeNode.held -contains $id) { throw 'crictl ended with 1: deadline exceeded' }
    $fakeNode.calls += $call
}
function Send-Web {
    param([hashtable] $Request, [double] $Seconds)
    if (-not $fakeNode.healthy) { throw 'no answer' }
    @{ status = $fakeNode.status; text = 'ok' }
}
function Get-ScheduledTask {
    param([string] $TaskName)
    @{ State = $fakeNode.task }
}
function Start-ScheduledTask {
    param([string] $TaskName)
    $fakeNode.calls += "run $TaskName"
}
$fakeMachine = ConvertTo-Data @{
    kubeletEndpoint = 'pipe'
    programs        = @{ crictl = 'crictl.exe' }
    paths           = @{ state = "$temp/state"; logs = "$temp/logs" }
    network         = @{ name = 'flannel.4096'; routes = @('169.254.169.254/32') }
    watch           = @{ lostRounds = 2; sickRounds = 3; logBytes = 10; kubeletHealth = 'http://127.0.0.1:10248/healthz'; proxyHealth = 'http://127.0.0.1:10256/livez' }
}

Test 'services that stopped are started, also those that a stage left held, cut off later; running and missing ones are left alone' {
    $fakeNode.services = @{ containerd = 'Stopped'; kubelet = 'Running' }
    Repair-Services
    Assert-Equal $fakeNode.started @('containerd')
    $fakeNode.services.Remove('kubelet')
    Repair-Services
    Assert-Equal $fakeNode.started @('containerd')
    Assert-Equal $fakeNotices.told.Count 1
    $fakeNode.started = @()
    $fakeNode.services = @{ containerd = 'Stopped'; kubelet = 'Stopped' }
    $fakeNode.start = @{ containerd = 'Disabled'; kubelet = 'Disabled' }
    Repair-Services
    Assert-Equal $fakeNode.started @('containerd', 'kubelet')
    Assert-Equal @($fakeNode.start.containerd, $fakeNode.start.kubelet) @('Manual', 'Manual')
}
Test 'containerd is raised above the pods, whoever started it' {
    $fakeProcess = New-Object PSObject -Property @{ Name = 'containerd'; PriorityClass = 'Normal' }
    function Get-Process { $fakeProcess }
    Repair-Services
    Assert-Equal $fakeProcess.PriorityClass 'AboveNormal'
}
foreach ($case in @(
    @{ title = 'stays away'; looks = @('n1', '', ''); running = @('flanneld'); stopped = 1 }
    @{ title = 'comes back in between'; looks = @('', 'n1', ''); running = @('flanneld'); stopped = 0 }
    @{ title = 'stays away, but does not run'; looks = @('', '', ''); running = @(); stopped = 0 }
)) {
    Test "flanneld whose network $($case.title) is restarted $($case.stopped) times" {
        Set-Values $fakeNode @{ running = $case.running; stopped = 0 }
        $memory = @{ lost = 0 }
        foreach ($there in $case.looks) {
            Assert-Equal $fakeNode.stopped 0
            $fakeNode.network = $there
            Repair-PodNetwork $fakeMachine 'boot-1' $memory
        }
        Assert-Equal $fakeNode.stopped $case.stopped
        if ($case.stopped) { Assert-Equal $memory.lost 0 }
    }
}

# A node with pods, whose network the health task has seen once.
function Reset-Pods {
    Remove-Item -Recurse -Force -LiteralPath "$temp/state" -ErrorAction SilentlyContinue
    Set-Values $fakeNode @{ running = @('flanneld', 'kube-proxy'); network = 'n1'; process = 100; policies = @('p1'); held = @() }
    $fakeNode.sandboxes = [ordered] @{ a = '10.244.3.4'; host = ''; b = '10.244.3.5' }
    $fakeNotices.told = @()
    Repair-PodNetwork $fakeMachine 'boot-1' @{ lost = 0 }
    $fakeNode.calls = @()
}
$restart = 'DELETE /policylists/p1', 'end kube-proxy', 'stopp a', 'stopp b'
foreach ($change in 'process', 'network') {
    Test "another $change of HNS: pods get new endpoints and kube-proxy its load balancers, once; HostProcess pods go on" {
        Reset-Pods
        $fakeNode[$change] = '200'
        $memory = @{ lost = 0 }
        Repair-PodNetwork $fakeMachine 'boot-1' $memory
        Assert-Equal $fakeNode.calls $restart
        Assert-Equal $fakeNotices.told @('HNS has lost the endpoints of the pods; they are made again')
        Repair-PodNetwork $fakeMachine 'boot-1' $memory
        Assert-Equal $fakeNode.calls $restart
    }
}
Test 'the first look of a boot restarts nothing, whatever the boot before was' {
    Reset-Pods
    $fakeNode.process = 200
    Repair-PodNetwork $fakeMachine 'boot-2' @{ lost = 0 }
    Assert-Equal $fakeNode.calls @()
    $fakeNode.process = 300
    Repair-PodNetwork $fakeMachine 'boot-2' @{ lost = 0 }
    Assert-Equal $fakeNode.calls $restart
}
Test 'while the network is away nothing is restarted but flanneld' {
    Reset-Pods
    $fakeNode.process = 200
    $fakeNode.network = ''
    Repair-PodNetwork $fakeMachine 'boot-1' @{ lost = 0 }
    Assert-Equal $fakeNode.calls @()
}
Test 'a sandbox that does not stop is tried again, and no other is' {
    Reset-Pods
    $fakeNode.network = 'n2'
    $fakeNode.held = @('a')
    $memory = @{ lost = 0 }
    Repair-PodNetwork $fakeMachine 'boot-1' $memory
    Assert-Equal @($fakeNode.calls | Where-Object { $_ -like 'stopp *' }) @('stopp b')
    $fakeNode.calls = @()
    $fakeNode.held = @()
    Repair-PodNetwork $fakeMachine 'boot-1' $memory
    Repair-PodNetwork $fakeMachine 'boot-1' $memory
    Assert-Equal $fakeNode.calls @('stopp a')
}
foreach ($sick in @(@{ name = 'kubelet'; calls = @('stop kubelet', 'start kubelet') }, @{ name = 'kube-proxy'; calls = @('end kube-proxy') })) {
    Test "a $($sick.name) that does not answer is restarted after some rounds; a kube-proxy that does not run or has no network yet is no case" {
        $memory = @{ lost = 0 }
        Set-Values $fakeNode @{ healthy = $false; calls = @(); running = @() }
        foreach ($round in @(1, 2, 3, 4)) { Repair-Proxy $fakeMachine $memory }
        $fakeNode.running = @($sick.name)
        $network = $fakeNode.network
        $fakeNode.network = ''
        foreach ($round in @(1, 2, 3, 4)) { Repair-Proxy $fakeMachine $memory }
        $fakeNode.network = $network
        foreach ($round in @(1, 2, 3)) {
            Assert-Equal $fakeNode.calls @()
            if ($sick.name -eq 'kubelet') {
                Repair-Kubelet $fakeMachine $memory
            }
            else {
                Repair-Proxy $fakeMachine $memory
            }
        }
        Assert-Equal $fakeNode.calls $sick.calls
        Assert-Equal $memory[$sick.name] 0
    }
}
Test 'an answer that is no 200 is none' {
    $fakeNode.healthy = $true
    Test-Health 'http://127.0.0.1:10248/healthz'
    $fakeNode.status = 500
    Assert-Throws { Test-Health 'http://127.0.0.1:10248/healthz' } 'answered with 500$'
    $fakeNode.status = 200
}
Test 'a kube-proxy that says that it is behind has six times as long' {
    $fakeNode.calls = @()
    $fakeNode.running = @('kube-proxy')
    $fakeNode.status = 503
    $memory = @{ lost = 0 }
    foreach ($round in @(1) * 17) { Repair-Proxy $fakeMachine $memory }
    Assert-Equal $fakeNode.calls @()
    # Sixths do not add up exactly.
    foreach ($round in 1, 2) { Repair-Proxy $fakeMachine $memory }
    Assert-Equal $fakeNode.calls @('end kube-proxy')
    $fakeNode.status = 200
}
Test 'HNS that hangs is told and restarted after some rounds, and what failed meanwhile is told once' {
    $memory = @{ lost = 0 }
    $fakeNotices.told = @()
    Set-Values $fakeNode @{ calls = @(); services = @{}; running = @(); hangs = $true }
    function Get-HnsNetworkNamed { throw 'HNS GET /networks/: no answer within 60000 ms' }
    foreach ($round in @(1, 2, 3)) { Invoke-Repairs $fakeMachine 'boot-1' $memory }
    Assert-Equal $fakeNode.calls @('stop hns', 'start hns')
    Assert-Equal $fakeNotices.told @('watch of pod network: HNS GET /networks/: no answer within 60000 ms', 'HNS does not answer; restarting it')
    $fakeNode.hangs = $false
}
Test 'a run that has ended before the node was Ready is told and started after some rounds, one that only pauses is not' {
    function Test-Settled { $false }
    $fakeNode.locked = $false
    foreach ($case in @(@{ task = 'Running'; calls = @() }, @{ task = 'Ready'; calls = @('run fenestra-run') })) {
        $memory = @{ lost = 0 }
        $fakeNode.task = $case.task
        $fakeNode.calls = @()
        foreach ($round in @(1, 2, 3)) { Invoke-Round $fakeMachine 'boot-1' $memory }
        Assert-Equal $fakeNode.calls $case.calls
    }
}
Test 'what the user wants done after Ready switches off no repair' {
    $settled = ConvertTo-Data @{ paths = @{ state = "$temp/settled"; bootstrapKubeconfig = "$temp/none" }; stages = @(@{ name = 'ready'; scope = 'once'; hash = 'h'; fills = @() }, @{ name = 'after'; scope = 'once'; hash = 'h'; fills = @() }) }
    Assert-Equal (Test-Settled $settled 'boot-1') $false
    Set-StageDone $settled $settled.stages[0] 'boot-1'
    Assert-Equal (Test-Settled $settled 'boot-1') $true
}
Test 'a log over its limit is kept once and emptied under the hands of who writes it, a smaller one is left alone' {
    $path = "$temp/containerd.log"
    Set-Content -NoNewline -Path $path -Value ''
    $writer = [IO.File]::Open($path, 'Append', 'Write', 'ReadWrite')
    try {
        foreach ($text in 'short', 'and long enough') {
            $bytes = [Text.Encoding]::ASCII.GetBytes($text)
            $writer.Write($bytes, 0, $bytes.Length)
            $writer.Flush()
            Limit-Log $path 10
            if ($text -eq 'short') { Assert-Equal (Test-Path "$path.1") $false }
        }
    }
    finally {
        $writer.Close()
    }
    Assert-Equal (Get-Content -Raw -LiteralPath "$path.1") 'shortand long enough'
    Assert-Equal (Get-Item -LiteralPath $path).Length 0
    # A folder in the copy's place is like a disk without room.
    Remove-Item -LiteralPath "$path.1"
    New-Folder "$path.1/containerd.log"
    Set-Content -Path $path -Value 'and long enough again'
    Assert-Throws { Limit-Log $path 10 } '.'
    Assert-Equal (Get-Item -LiteralPath $path).Length 0
}
Test 'the health port is open while the node is Ready and for a while after, and never before' {
    $say = @{ ready = $false }
    function Test-NodeReady { $say.ready }
    function Test-Open {
        $client = New-Object Net.Sockets.TcpClient
        try {
            $client.Connect('127.0.0.1', 10261)
            $true
        }
        catch {
            $false
        }
        finally {
            $client.Close()
        }
    }
    $memory = @{}
    foreach ($case in @(
            @{ node = ''; ready = $true; patience = 0; open = $false }
            @{ node = '{"name":"win2022000000"}'; ready = $false; patience = 0; open = $false }
            @{ node = '{"name":"win2022000000"}'; ready = $true; patience = 0; open = $true }
            @{ node = '{"name":"win2022000000"}'; ready = $false; patience = 60; open = $true }
            @{ node = '{"name":"win2022000000"}'; ready = $false; patience = 0; open = $false }
            @{ node = '{"name":"win2022000000"}'; ready = $true; patience = 0; open = $true }
        )) {
        Set-Content -Path "$temp/node.json" -Value $case.node
        $say.ready = $case.ready
        $machine = ConvertTo-Data @{ paths = @{ node = "$temp/node.json" }; watch = @{ healthPort = 10261; healthPatience = $case.patience } }
        Set-HealthPort $machine $memory
        # More connections than a queue holds.
        foreach ($time in @(1, 2, 3)) { Assert-Equal (Test-Open) $case.open }
        Set-HealthPort $machine $memory
    }
    Assert-Equal $memory.port.Pending() $false
    $memory.port.Stop()
}
$routes = @{ asked = 0 }
function Repair-Routes { $routes.asked += 1 }
Test 'what a stage stopped is left alone while a run is at work, and looked after again behind it; routes are always' {
    function Test-Settled { $true }
    Set-Values $fakeNode @{ started = @(); services = @{ containerd = 'Stopped' }; start = @{}; healthy = $true; network = 'n1'; locked = $true }
    $routes.asked = 0
    Invoke-Round $fakeMachine 'boot-1' @{ lost = 0 }
    Assert-Equal @($fakeNode.started.Count, $routes.asked) @(0, 1)
    $fakeNode.locked = $false
    Invoke-Round $fakeMachine 'boot-1' @{ lost = 0 }
    Assert-Equal $fakeNode.started @('containerd')
    Assert-Equal $routes.asked 2
}
Test 'a duty that fails is told once, stops no other, and is told again after it worked' {
    $fakeDuties = @{ log = @(); fails = $true }
    $memory = @{}
    $work = [ordered] @{ first = { if ($fakeDuties.fails) { throw 'access is denied' } }; second = { $fakeDuties.log += 'second' } }
    $fakeNotices.told = @()
    foreach ($fails in $true, $true, $false, $true) {
        $fakeDuties.fails = $fails
        Invoke-Duties $memory $work
    }
    Assert-Equal $fakeNotices.told @('watch of first: access is denied', 'watch of first: access is denied')
    Assert-Equal $fakeDuties.log.Count 4
}
Test 'duties that have failed are written on the Node once, and taken away when all work' {
    $say = @{ calls = @() }
    function Invoke-Program {
        param([string] $Path, [string[]] $Arguments, [double] $Seconds)
        $say.calls += $Arguments[-1]
    }
    Set-Content -Path "$temp/node.json" -Value '{"name":"win2022000000"}'
    $told = ConvertTo-Data @{ programs = @{ kubectl = 'kubectl.exe' }; paths = @{ node = "$temp/node.json"; kubeconfig = 'k' } }
    $memory = @{ lost = 0; 'failed routes' = 'x'; 'failed HNS' = 'y' }
    Send-Failed $told $memory
    Send-Failed $told $memory
    $memory.Remove('failed routes')
    $memory.Remove('failed HNS')
    Send-Failed $told $memory
    Assert-Equal $say.calls @('fenestra.dev/failed=HNS,routes', 'fenestra.dev/failed-')
}
Complete-Tests
