# The health task: what goes wrong after Ready is repaired, once, and told.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/watch-health.ps1"
. "$PSScriptRoot/node.ps1"
$bound = { @{ round = New-Deadline 600; port = $fakePort } }
Reset-Node

Test 'containerd is raised above the pods, whoever started it' {
    $fakeProcess = [PSCustomObject] @{ Name = 'containerd'; PriorityClass = 'Normal' }
    Reset-Node @{ processes = @($fakeProcess) }
    Repair-Containerd $fakeMachine @{ isReady = $true }
    Assert-Equal $fakeProcess.PriorityClass 'AboveNormal'
}
Test 'of a node that the API has not heard of nobody says whether it is Ready' {
    foreach ($ready in 'True', 'False', 'Unknown') {
        Reset-Node @{ ready = $ready }
        Assert-Equal (Test-NodeReady $fakeMachine 'n') @{ True = $true; False = $false }[$ready]
    }
}
# A node with pods, whose network the health task has seen once.
function Reset-Pods {
    Remove-Item -Path "$temp/state/*"
    Reset-Node
    Repair-PodNetwork $fakeMachine 'boot-1' (& $bound)
}
Test 'plug-ins'' configuration that is torn is written again, once HNS has had their network for a round' {
    Reset-Pods
    $path = $fakeMachine.network.conflist
    [IO.File]::WriteAllText($path, '{"name"')
    $memory = & $bound
    # Not before, nor while a stage may be making it anew.
    foreach ($round in 'nat', 'nat', 'flannel.4096 network', 'flannel.4096 network', 'flannel.4096') {
        $fakePc.networks[0].Name, $fakePc.due = -split $round
        Invoke-Round $fakeMachine 'boot-1' $memory
        Assert-Equal (Read-Data $path) $null
    }
    Invoke-Round $fakeMachine 'boot-1' $memory
    Assert-Equal (Read-Data $path).name 'cni'
}
Test 'only a sandbox that did not stop is tried again, also by the next process' {
    Reset-Pods
    $fakePc.services.hns.id = 200
    $fakePc.held = @('a', 'b')
    Assert-Throws { Repair-PodNetwork $fakeMachine 'boot-1' (& $bound) } '^2 parts of the pod network'
    $fakePc.sandboxes.Remove('b')
    $fakePc.sandboxes.new = '10.244.3.6'
    Set-Values $fakePc @{ held = @(); call = 'crictl inspectp'; way = 'throws' }
    Assert-Throws { Repair-PodNetwork $fakeMachine 'boot-1' (& $bound) } '^2 parts'
    $fakePc.call = ''
    foreach ($round in 1, 2) { Repair-PodNetwork $fakeMachine 'boot-1' (& $bound) }
    Assert-Equal $fakePc.deeds @('DELETE /policylists/p1', 'end kube-proxy', 'stopp a')
}
Test 'a kube-proxy that is behind has six times as long' {
    Reset-Node
    $fakePc.status = 503
    $memory = @{}
    foreach ($round in @(1) * 17) { Repair-Proxy $fakeMachine $memory }
    Assert-Equal $fakePc.deeds @()
    # Sixths do not add up exactly.
    foreach ($round in 1, 2) { Repair-Proxy $fakeMachine $memory }
    Assert-Equal $fakePc.deeds @('end kube-proxy')
}
Test 'patience with a check grows sixteenfold, begins anew, and is none with a program of ours that is gone' {
    $memory = @{}
    $sick = { @(@(1) * $args[0] | Where-Object { Test-Sick $memory 'x' 3 { throw 'bad' } }).Count }
    $well = { Test-Sick $memory 'x' 3 { } }
    & $sick 2
    & $well
    Assert-Equal @(foreach ($rounds in 2, 1, 95, 48) { & $sick $rounds }) @(0, 1, 4, 1)
    & $well
    Assert-Equal (& $sick 3) 1
    Assert-Throws { Test-Sick $memory 'x' 3 { throw 'program x is missing' } } '^program'
}
Test 'only a log over its limit is kept once and emptied under its writer' {
    $path = "$temp/containerd.log"
    Set-Content -NoNewline -Path $path -Value ''
    $writer = [IO.File]::Open($path, 'Append', 'Write', 'ReadWrite')
    try {
        foreach ($text in 'short', 'and long enough') {
            $bytes = [Text.Encoding]::ASCII.GetBytes($text)
            $writer.Write($bytes, 0, $bytes.Length)
            $writer.Flush()
            Limit-Log $path 10
            if ($text -eq 'short') { Assert-False (Test-Path "$path.1") }
        }
    }
    finally {
        $writer.Close()
    }
    Assert-Equal (Get-Content -Raw "$path.1") 'shortand long enough'
    Assert-Equal (Get-Item $path).Length 0
}
Test 'the health port opens with Ready, and closes a while after it ends' {
    $say = @{ ready = $false }
    function Test-NodeReady { $say.ready }
    function Test-Open { try { (New-Object Net.Sockets.TcpClient '127.0.0.1', 10261).Close(); $true } catch { $false } }
    Reset-Node
    $memory = @{}
    foreach ($case in Read-Table @'
joined|ready|patience|open
False|True|0|False
True|False|0|False
True|True|0|True
True|False|60|True
True|False|0|False
True|True|0|True
'@) {
        $say.ready = $case.ready
        $fakeMachine.paths.kubeconfig = @("$temp/none", "$temp/state")[[int] $case.joined]
        $fakeMachine.watch.healthPatience = $case.patience
        Set-HealthPort $fakeMachine $memory
        # More connections than a queue holds.
        foreach ($time in @(1, 2, 3)) { Assert-Equal (Test-Open) $case.open }
        Set-HealthPort $fakeMachine $memory
    }
    Assert-False $memory.port.Pending()
    $memory.port.Stop()
}
Test 'failed duties and a beat are written on the Node at each change and every few minutes' {
    Reset-Node
    [IO.File]::WriteAllText($fakeMachine.paths.node, '{"name":"torn')
    $memory = @{ 'failed routes' = 'x'; 'failed HNS' = 'y'; 'failed report' = 'z' }
    $kubectl = $fakeMachine.programs.kubectl
    $fakeMachine.programs.kubectl = "$temp/none"
    Send-Beat $fakeMachine $memory
    Assert-Equal $fakePc.told.Count 0
    $fakeMachine.programs.kubectl = $kubectl
    Send-Beat $fakeMachine $memory
    Assert-Equal $fakePc.notes['fenestra.dev/failed'] 'HNS,routes'
    Assert-True ($fakePc.notes['fenestra.dev/beat'] -cmatch '^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$')
    $memory.Remove('failed routes')
    $memory.Remove('failed HNS')
    foreach ($round in @(1) * 11) {
        Send-Beat $fakeMachine $memory
        $fakePc.time += 30
    }
    Assert-Equal @($fakePc.notes['fenestra.dev/failed'], $fakePc.notes.count, $memory.node) @($null, 3, 'i-0123456789abcdef0')
}
Test 'crashes and the day of Defender''s signatures are written on the Node, daily' {
    Reset-Node
    $text = '<Event><System><Provider Name="P"/><EventID{0}</EventID><TimeCreated SystemTime="2026-11-{1}T01:02:03.456Z"/></System><EventData><Data Name="param1">{2}</Data></EventData></Event>'
    $fakePc.events = ($text -f ' Qualifiers="16384">1001', '27', '0x0000007e (0xffffffffc0000005)') + ($text -f '>41', '26', '126') + ($text -f '>41', '20', '0')
    $fakePc.defender = [PSCustomObject] @{ AntivirusSignatureLastUpdated = [DateTime] '2026-10-01T05:00:00' }
    $memory = @{}
    Send-Beat $fakeMachine $memory
    Assert-Equal @($fakePc.notes['fenestra.dev/crashes'], $fakePc.notes['fenestra.dev/signatures']) @('2, last 2026-11-26T01:02:03Z, stop 0x0000007e', '2026-10-01')
    $fakePc.events = ''
    $fakePc.time += 400
    Send-Beat $fakeMachine $memory
    Assert-Equal $fakePc.notes['fenestra.dev/crashes'] '2, last 2026-11-26T01:02:03Z, stop 0x0000007e'
    $fakePc.time += 86400
    Send-Beat $fakeMachine $memory
    Assert-Equal $fakePc.notes['fenestra.dev/crashes'] $null
}
Test 'a round that hangs is told, ends its process, and starts the next' {
    New-Program 'powershell.exe' "[IO.File]::WriteAllText('$temp/next', `$args)"
    $program = New-Program 'guarded' "
        . '$temp/real/watch-health.ps1'
        `$data = ConvertFrom-Json '{`"paths`":{`"logs`":`"$("$temp/guard" -replace '\\', '/')`"},`"console`":`"`"}'
        `$memory = @{ duty = 'routes'; round = New-Deadline 1 }
        Start-Guard `$data `$memory
        `$memory.round = New-Deadline 2
        [Threading.Thread]::Sleep(60000)"
    $watch = [Diagnostics.Stopwatch]::StartNew()
    & $program
    Assert-Equal @(($watch.Elapsed.TotalSeconds -lt 40), ($LASTEXITCODE -ne 0)) @($true, $true)
    Assert-True ((Read-Text "$temp/guard/health.log") -match 'watch of routes hangs')
    Assert-True ((Read-Text "$temp/next") -like '*Start-ScheduledTask fenestra-health*')
}
Complete-Tests
