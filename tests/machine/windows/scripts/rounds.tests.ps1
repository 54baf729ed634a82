# The health task over ten rounds with each of its calls spoilt in each way: what was done, and what has failed?
. "$PSScriptRoot/fakes.ps1"
. "$scripts/watch-health.ps1"
. "$PSScriptRoot/node.ps1"
$fakeMachine.watch.healthPatience = 10000
# What happens in the second round.
$fakeScenes = [ordered] @{
    well        = { @() }
    trouble     = {
        $fakePc.routes = @($fakePc.routes[0])
        $fakePc.services.hns.id = 777
        $fakePc.services.kubelet.status = 'Stopped'
    }
    'not Ready' = { $fakePc.ready = $false }
    hung        = { $fakePc.status = 500 }
    unsettled   = { Set-Values $fakePc @{ state = 'new'; due = @('network'); tasks = @{ 'fenestra-run' = @{ State = 'Ready' } } } }
    # A stage of a later boot fails: what it starts has as long as what hangs.
    stuck       = {
        Set-Values $fakePc @{ state = 'down'; due = @('network') }
        $fakePc.services.kubelet.status = 'Stopped'
    }
    # A run is at work: what its stage has stopped is left alone, and only routes are looked after.
    locked      = {
        Set-Values $fakePc @{ locked = $true; routes = @($fakePc.routes[0]) }
        $fakePc.services.containerd.status = 'Stopped'
    }
    'no network' = { $fakePc.networks = @() }
    'no flanneld' = { Set-Values $fakePc @{ networks = @(); processes = @('kube-proxy', 'kubelet') } }
    'another network' = { $fakePc.networks[0].ID = 'n2' }
}
# Scene, deeds, failed duties, and the cells that end so: calls with the first letters of ways. Each other cell of a
# scene is as the first of its lines. Trouble is cured once and whole, whatever is spoilt for five rounds; what has not
# answered is restarted for that alone, and the second time later. What hangs without a limit ends its process instead.
$fakeCells = Read-Table @'
scene|deeds|failed|cells[]
well|||
well||logs|Get-ChildItem te
well||routes|Get-NetIPAddress t, Get-NetRoute t
well||pod network,routes|New-CimSession t
well||pod network|Get-CimInstance tne, Write-Text t
well||service containerd,service hns,service kubelet|Get-Service tne
well||kube-proxy,pod network|Get-Process t, HNS GET networks e
well||HNS,kube-proxy,pod network|Initialize-Hns t
well||report|kubectl annotate ht
well|start hns, start hns, stop hns, stop hns|kube-proxy,pod network|HNS GET networks htn
well|end kube-proxy||GET kube-proxy htne
well|end kubelet, end kubelet, start kubelet, start kubelet, stop kubelet, stop kubelet||GET kubelet htne
trouble|DELETE /policylists/p1, end kube-proxy, end kubelet, route, start kubelet, stopp a, stopp b||
trouble|DELETE /policylists/p1, end kube-proxy, end kubelet, route, start hns, start kubelet, stop hns, stopp a, stopp b||HNS GET networks htn
trouble|DELETE /policylists/p1, end kube-proxy, end kubelet, end kubelet, route, start kubelet, start kubelet, stop kubelet, stopp a, stopp b||GET kubelet htne
not Ready|||
not Ready|start containerd, start containerd, stop containerd, stop containerd||crictl info htn
hung|end kube-proxy, end kubelet, end kubelet, start kubelet, start kubelet, stop kubelet, stop kubelet||
hung|||Stop h
hung|end 300, end 307, end kube-proxy, end kubelet, end kubelet, start kubelet, start kubelet||Stop t
stuck|end kubelet, start kubelet||
unsettled|run fenestra-run||
locked|route||
no network|end flanneld||
no flanneld|||
another network|DELETE /policylists/p1, end kube-proxy, stopp a, stopp b||
unsettled|||Get-ScheduledTask h, Start-ScheduledTask ht
unsettled||bootstrap|Get-ScheduledTask tne
'@

# What was done and has failed in ten rounds. In trouble the call is well again in the seventh.
function Get-Cell {
    param($Scene, $Call, $Way)
    Reset-Node
    Remove-Item -Path "$temp/state/*"
    $kept = @{}
    for ($round = 1; $round -le 10; $round += 1) {
        if ($fakePc.over -or $round -eq 1) { $kept = @{ port = $fakePort; ready = [Diagnostics.Stopwatch]::StartNew() } }
        if ($round -eq 1) { $kept.calm = New-Deadline 0 }
        Set-Values $fakePc @{ over = $false; call = $Call; way = $Way }
        if ($round -eq 2) { & $fakeScenes[$Scene] }
        if ($Scene -eq 'trouble' -and ($round -eq 1 -or $round -gt 6)) { $fakePc.call = '' }
        $began = $fakePc.time
        :alive while ($true) {
            Invoke-Round $fakeMachine $fakePc.boot $kept
            break
        }
        if ($fakePc.time - $began -gt 600) { Add-Deed 'too long' }
        $fakePc.time += 100
    }
    if ($fakePc.over) { $kept = @{} }
    "$(@($fakePc.deeds -notlike 'set *' | Sort-Object) -join ', ')|$(@($kept.Keys -like 'failed *' -replace '^failed ' | Sort-Object) -join ',')"
}
# The end of a cell by the table.
function Get-Wanted {
    param($Scene, $Call, $Way)
    $rows = @($fakeCells | Where-Object { $_.scene -eq $Scene })
    $own = $rows | Where-Object { $_.cells -match "^$([Regex]::Escape($Call)) \w*$("$Way"[0])" }
    $row = (@($own) + $rows -ne $null)[0]
    "$($row.deeds)|$($row.failed)"
}
$fakeSeen = @()
foreach ($scene in $fakeScenes.Keys) {
    Get-Cell $scene '' '' | Out-Null
    $ways = $fakePc.ways
    $calls = @($ways.Keys | Where-Object { 'well', 'trouble' -contains $scene -or $fakeSeen -notcontains $_ } | Sort-Object)
    $fakeSeen += $calls
    foreach ($call in @('') + $calls) {
        Test "${scene}: $call" {
            foreach ($way in @(if ($call) { $ways[$call] } else { 'well' })) {
                $is = Get-Cell $scene $call $way
                if ("$scene $call" -eq 'trouble ') { Assert-Equal $fakePc.told @('route to 169.254.169.254/32 was lost and is back', 'service kubelet is Stopped; starting it', 'HNS has lost the endpoints of the pods; they are made again') }
                Assert-Equal "${way}: $is" "${way}: $(Get-Wanted $scene $call $way)"
            }
        }
    }
}
Complete-Tests
