# All that a round of the health task meets besides services: HNS, containerd, the API, health addresses, tasks, routes,
# the disk.
. "$PSScriptRoot/hns-fake.ps1"

# In place of the lock between processes: held by a run, or free.
function Invoke-Alone {
    param($Lock, $Milliseconds, $Body)
    if ("$Lock $Milliseconds" -ne 'run 0') { throw "lock $Lock" }
    if ($fakeNode.locked) { return $false }
    & $Body | Out-Null
    $true
}
# The state of the machine, of which real records are read in guard.tests.ps1.
function Get-NodeState { $fakeNode.state }
function Get-Due { $fakeNode.due | ForEach-Object { @{ name = $_ } } }
function Initialize-Hns { Invoke-Call 'Initialize-Hns' -Sure { @() } }
[Fenestra.Hns]::Answer = {
    param($Method, $Path)
    $kind = $Path.Trim('/').Split('/')[0]
    $answer = Invoke-Call "HNS $Method $kind" -Limit 60 -Sure:($Method -eq 'DELETE') {
        if ($Method -eq 'DELETE') { Add-Deed "$Method $Path" }
        @{ Success = $true; Output = @($fakeNode[$kind]) } | ConvertTo-Json -Depth 5
    }
    if ($answer -isnot [string] -and $answer) { return '{"Success":true,"Output":[{}]}' }
    $answer
}
# crictl, with sandboxes by their addresses of which one that is held does not stop; kubectl; shutdown.exe.
function Invoke-Program {
    param($Path, $Arguments, $Seconds)
    if (-not $Seconds) { throw "$Path has no limit" }
    $words = @($Arguments | Where-Object { $_ -notlike '--*' -and "$temp/state", '10s', 'pipe', '60s' -notcontains $_ })
    $id = $words[-1]
    $call = "$(Split-Path -Leaf $Path) $($words[0])"
    $text = Invoke-Call $call -Limit $Seconds -Sure:('stopp', 'annotate', '/r' -contains $words[0]) {
        switch ($call) {
            'wevtutil.exe qe' { $fakeNode.events }
            'crictl info' { '{"status":{}}' }
            'crictl pods' { @($fakeNode.sandboxes.Keys) }
            'crictl inspectp' {
                if (-not $fakeNode.sandboxes.Contains($id)) { throw 'crictl ended with 1: code = NotFound' }
                "$id $($fakeNode.sandboxes[$id])"
            }
            'crictl stopp' {
                if ($fakeNode.held -contains $id) { throw 'crictl ended with 1: deadline exceeded' }
                Add-Deed "stopp $id"
                $fakeNode.sandboxes.Remove($id)
            }
            'kubectl get' { "Ready=$($fakeNode.ready);" }
            'kubectl annotate' {
                $fakeNode.told.count += 1
                foreach ($pair in $words -like 'fenestra.dev/*') { $fakeNode.told[($pair -split '=|-$')[0]] = ($pair -split '=')[1] }
            }
            'shutdown.exe /r' { Add-Deed 'restart' }
        }
    }
    if ($fakeNode.over) { break 'alive' }
    if ($text -and $text -isnot [string] -and $text -isnot [array]) { return '{}' }
    $text
}
function Get-AwsMetadata { Invoke-Call 'Get-AwsMetadata' { 'i-0123456789abcdef0' } }
function Send-Web {
    param($Request, $Seconds)
    Invoke-Call "Send-Web $($Request.Uri)" -Limit $Seconds { @{ status = $fakeNode.status; text = 'ok' } }
}
function Get-ScheduledTask {
    param($TaskName)
    Invoke-Call 'Get-ScheduledTask' { [PSCustomObject] @{ State = $fakeNode.task } }
}
function Start-ScheduledTask {
    param($TaskName)
    Invoke-Call 'Start-ScheduledTask' -Sure {
        Add-Deed "run $TaskName"
        $fakeNode.task = 'Running'
    }
}
function New-Route {
    param($Prefix)
    [PSCustomObject] @{ DestinationPrefix = $Prefix; InterfaceIndex = 7; NextHop = '10.0.0.1'; RouteMetric = 0; InterfaceMetric = 15 }
}
function Get-NetRoute {
    Invoke-Call 'Get-NetRoute' {
        New-Route '0.0.0.0/0'
        if ($fakeNode.route) { New-Route '169.254.169.254/32' }
    }
}
function Get-NetIPAddress { Invoke-Call 'Get-NetIPAddress' { [PSCustomObject] @{ InterfaceIndex = 7; AddressState = 'Preferred'; IPAddress = '10.0.0.9' } } }
function New-NetRoute {
    Invoke-Call 'New-NetRoute' -Sure {
        Add-Deed 'route'
        $fakeNode.route = $true
    }
}
function Remove-NetRoute { Invoke-Call 'Remove-NetRoute' -Sure { @() } }
[IO.File]::WriteAllText("$scripts/drain.ps1", 'Invoke-Call drain -Sure { Add-Deed drain }')
$fakeWrite = ${function:Write-Text}
function Write-Text {
    param($Path, $Text)
    Invoke-Call 'Write-Text' -Sure { & $fakeWrite $Path $Text }
}
function Get-ChildItem { Invoke-Call 'Get-ChildItem' { @() } }
New-Item -ItemType Directory -Path "$temp/state" | Out-Null
[IO.File]::WriteAllText("$temp/kubectl", '')
$fakeMachine = ConvertTo-Data @{
    kubeletEndpoint = 'pipe'
    stages          = @(@{ name = 'network'; takes = $true })
    cloud           = @{ kind = 'aws' }
    programs        = @{ crictl = 'crictl'; kubectl = "$temp/kubectl" }
    paths           = @{ state = "$temp/state"; logs = "$temp/logs"; kubeconfig = "$temp/state"; node = "$temp/node.json" }
    drain           = @{ spotSeconds = 20 }
    network         = @{ name = 'flannel.4096'; routes = @('169.254.169.254/32'); conflist = "$temp/state" }
    watch           = @{ roundSeconds = 600; beatSeconds = 300; lostRounds = 2; sickRounds = 3; logBytes = 10; healthPatience = 300; healthPort = 10261; kubeletHealth = 'kubelet'; proxyHealth = 'kube-proxy' }
}
