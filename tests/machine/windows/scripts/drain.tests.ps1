# Self-drain: which pods go, disruption budgets, the deadline, and what the clouds announce.
. "$PSScriptRoot/harness.ps1"
. "$scripts/drain.ps1" -Seconds 1
. "$scripts/notice.ps1"

$cluster = @{}
# The real one, before the fake below takes its name.
$realKubectl = ${function:Invoke-Kubectl}
function Send-Lifecycle {
    param($Machine, $Hook, $Action, $Result = '')
    $cluster.beats += "$Hook $Action $Result"
    if ($cluster.silent) { throw 'no answer' }
}
. "$PSScriptRoot/log-fake.ps1"
# A round of the drain takes real time to be counted; a short one keeps the test short.
function Start-Sleep {
    param($Seconds)
    [Threading.Thread]::Sleep(20)
    $cluster.clock += 1
    if ($cluster.clock -ge 3) {
        $cluster.guarded = @()
        $cluster.unreachable = $false
    }
}
function New-Pod {
    param(
        $Name,
        $Owner = 'ReplicaSet',
        $Phase = 'Running',
        $Mirror = '<none>',
        $Deleted = '<none>'
    )
    @{ name = $Name; line = "default     $Name     $Phase   $Owner   $Mirror   $Deleted" }
}
function Invoke-Kubectl {
    param($Machine, $Arguments, $Deadline, $Text = '')
    $cluster.calls += $Arguments -join ' '
    $cluster.text = $Text
    if ($cluster.unreachable) { throw 'kubectl.exe ended with 1: Unable to connect to the server: EOF' }
    if ($Arguments[-1] -like '*dev/drain}') { return $cluster.mark }
    if ($Arguments[-1] -like '*volumesInUse*') {
        $cluster.disks -= 1
        if ($cluster.disks -ge 0) { return 'kubernetes.io/csi/disk' }
        return
    }
    if ($Arguments[-1] -eq 'name' -and $cluster.gone) { return }
    if ($Arguments[1] -eq 'node' -and $cluster.gone) {
        throw 'kubectl.exe ended with 1: Error from server (NotFound): nodes "n" not found'
    }
    if ($Arguments[0] -eq 'get' -and $Arguments[1] -eq 'node') { return $cluster.node }
    if ($Arguments[1] -eq 'services') { return $cluster.services }
    if ($Arguments[0] -eq 'get') {
        return @($cluster.pods) + @($cluster.own) | Where-Object { $_ } | ForEach-Object { $_.line }
    }
    if ($Arguments[0] -eq 'create') {
        $name = ($Arguments[2] -split '/')[-2]
        if ($cluster.guarded -contains $name) {
            throw 'Error from server (TooManyRequests): Cannot evict pod as it would violate the pod''s disruption budget.'
        }
        $cluster.pods = @($cluster.pods | Where-Object { $_.name -ne $name })
    }
}
function Reset-Cluster {
    param($Pods)
    $fakeNotices.told = @()
    Set-Values $cluster @{
        pods = @($Pods); own = @(New-Pod 'flannel' 'DaemonSet'); guarded = @(); calls = @(); beats = @(); node = ',,{}'; services = 'ClusterIP'; disks = 0
        clock = 0; silent = $false; unreachable = $false; gone = $false; mark = ''
    }
}
$machine = ConvertTo-Data @{ paths = @{ state = "$temp/state" }; drain = @{ pauseSeconds = 5; away = 1; heartbeatSeconds = 300; columns = 'A:.a,B:.b' } }

Test 'pods of DaemonSets, mirror pods and ended ones stay' {
    Reset-Cluster @(
        (New-Pod 'app')
        (New-Pod 'bare' '<none>')
        (New-Pod 'agent' 'DaemonSet')
        (New-Pod 'two' 'Job,DaemonSet')
        (New-Pod 'static' 'Node' 'Running' '8f3e')
        (New-Pod 'job' 'Job' 'Succeeded')
        (New-Pod 'broken' 'Job' 'Failed')
    )
    Assert-Equal @(Select-Pods @(Get-OwnPods $machine 'n' (New-Deadline 10)) | ForEach-Object { "$($_.namespace)/$($_.name)" }) @('default/app', 'default/bare')
}
Test 'an empty node is drained at once, and cordoned before anything is told' {
    Reset-Cluster @()
    function Write-Notice { $cluster.calls += $args[0] }
    Assert-True (Invoke-Drain $machine 'n' 30)
    $look = 'get node n -o jsonpath={.spec.unschedulable},{.metadata.annotations.fenestra\.dev/cordoned},{.metadata.labels}'
    Assert-Equal $cluster.calls @($look, 'patch node n --type merge -p {"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}', 'drain of node n within 30 s', 'get pods --all-namespaces --field-selector spec.nodeName=n --no-headers -o custom-columns=A:.a,B:.b', 'node n is drained after 0 s', 'get node n --ignore-not-found -o jsonpath={.status.volumesInUse[*]}')
}
$cordons = '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}'
$frees = '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}'
$excluded = '"node.kubernetes.io/exclude-from-external-load-balancers":'
$labels = "{`"metadata`":{`"labels`":{$excluded`"fenestra-drain`"}}}"
$unlabels = "{`"metadata`":{`"labels`":{${excluded}null}}}"
foreach ($case in Read-Table @'
node|how|patches[]
,,{"a":"b"}||cordons
true,,{}||
true,notice,{}||
,,{"a":"b","c":"d"}|Leaves|cordons, labels
true,notice,|Leaves|labels
true,,{"a":"b",EXCLUDED""}|Leaves|
true,notice,{"a":"b",EXCLUDED"fenestra-drain"}|Off|frees, unlabels
true,,{EXCLUDED"fenestra-drain"}|Off|unlabels
true,notice,{EXCLUDED""}|Off|frees
true,,{}|Off|
,,{}|Off|
'@) {
    Test "a node with '$($case.node)' ($($case.how)) is cordoned and labelled by us alone, and taken back by us alone" {
        Reset-Cluster @()
        $cluster.node = $case.node.Replace('EXCLUDED', $excluded)
        $how = @{}
        if ($case.how) { $how[$case.how] = $true }
        Set-Cordon $machine 'n' (New-Deadline 10) @how
        Assert-Equal @($cluster.calls -like 'patch *' -replace '^.* -p ') @($case.patches | ForEach-Object { (Get-Variable $_).Value })
    }
}
foreach ($case in Read-Table @'
services|mark|stays|seconds|waits
ClusterIP LoadBalancer||||True
NodePort ClusterIP||||True
||||True
ClusterIP ExternalName||||False
ClusterIP LoadBalancer|skip|||False
ClusterIP LoadBalancer||yes||False
ClusterIP LoadBalancer|||4|True
'@) {
    Test "a machine that leaves, among Services '$($case.services)' $($case.mark) $($case.stays) $($case.seconds), waits for load balancers beside evictions: $($case.waits)" {
        Reset-Cluster @(New-Pod 'a')
        $cluster.services = $case.services
        $cluster.mark = $case.mark
        $most = if ($case.seconds) { $case.seconds } else { 600 }
        $far = ConvertTo-Data @{ drain = @{ pauseSeconds = 5; away = if ($case.seconds) { 600 } else { 2 }; heartbeatSeconds = 1; columns = 'A:.a' } }
        $watch = [Diagnostics.Stopwatch]::StartNew()
        Assert-Equal (Invoke-Drain $far 'n' $most 'hook' -Leaves:(-not $case.stays)) (-not $case.mark)
        Assert-Equal ($watch.Elapsed.TotalSeconds -ge 0.9) $case.waits
        Assert-True ($watch.Elapsed.TotalSeconds -lt 30)
        $steps = @($cluster.calls -match '^(patch|create)' -replace '^.* -p ' -replace '^create .*', 'evicts')
        Assert-Equal $steps (@($cordons) + @(if (-not $case.stays) { $labels }) + @(if (-not $case.mark) { 'evicts' }))
        Assert-Equal ($cluster.beats.Count -gt 1) $case.waits
    }
}
# What is there, asked for and done: evictions at least, and none where 0. What is held by the clock never changes.
foreach ($case in Read-Table @'
drain|pods[]|set|how|seconds|done|evicts|deletes|looks|told
waits for a pod that goes already|going|clock=-1000000||1|False|0|1||
asks again for a pod that its disruption budget holds|a, b|guarded=b||30|True|3|0||
leaves what cannot move on a machine that is back afterwards|b|guarded=b clock=-1000000|Returns|1|False|1|0||
deletes the rest within its time|b|guarded=b clock=-1000000||3|False|1|1||drain of node n ended with 1 pods left
is none where the Node is marked|b|guarded=b mark=skip||600|False|0|1||
is one all the same where that machine returns|b|guarded=b mark=skip|Returns|600|True|2|0||
moves the pods of a Node that is gone, and deletes none|a, b|own= gone=1||30|True|2|0||
goes on with an API that answers again|a|unreachable=1||30|True|1|0||
knows nothing where the API never answers|a|unreachable=1 clock=-1000000||1|False|0|0||nobody has said which pods are left
takes a list without any pod of a DaemonSet for none||own=||1|False|0|0||nobody has said which pods are left
tries a label again that was refused||unreachable=1 services=LoadBalancer|Leaves|30|True|0|0|1|
waits until disks are not in use||disks=2||30|True|0|0|3|
waits for no disk of a machine that is back||disks=2|Returns|30|True|0|0|0|
'@) {
    Test "a drain $($case.drain)" {
        Reset-Cluster @($case.pods | ForEach-Object { if ($_ -eq 'going') { New-Pod 'b' -Deleted '2026-11-21T10:00:00Z' } else { New-Pod $_ } })
        Set-Values $cluster $case.set
        $how = @{}
        if ($case.how) { $how[$case.how] = $true }
        $watch = [Diagnostics.Stopwatch]::StartNew()
        Assert-Equal (Invoke-Drain $machine 'n' $case.seconds @how) $case.done
        if ($case.seconds -eq 3) { Assert-True ($watch.Elapsed.TotalSeconds -lt 3) }
        $evicted = @($cluster.calls -like 'create --raw /api/v1/namespaces/default/pods/*/eviction *').Count
        Assert-True ($evicted -ge $case.evicts -and ($case.evicts -gt 0 -or -not $evicted))
        Assert-Equal @($cluster.calls -like 'delete *').Count $case.deletes
        if ($case.deletes -eq 1) {
            Assert-Equal $cluster.calls[-1] 'delete --wait=false --ignore-not-found -f -'
            Assert-Equal @(($cluster.text | ConvertFrom-Json).items | ForEach-Object { "$($_.kind) $($_.metadata.namespace)/$($_.metadata.name)" }) @('Pod default/b')
        }
        Assert-True $fakeNotices.told[-1].EndsWith("$($case.told)")
        if ($null -ne $case.looks) { Assert-Equal @($cluster.calls -like '*volumesInUse*').Count $case.looks }
        if ($case.how -eq 'Leaves') { Assert-Equal @($cluster.calls -like "patch *$labels").Count 1 }
    }
}
Test 'the hook hears at the start that the drain goes on, answered or not, in intervals until the deadline, and not after it' {
    foreach ($silent in $false, $true) {
        Reset-Cluster @((New-Pod 'a'), (New-Pod 'b'))
        Set-Values $cluster @{ guarded = 'b'; silent = $silent }
        Assert-True (Invoke-Drain $machine 'n' 30 'drain')
        Assert-Equal $cluster.beats @('drain RecordLifecycleActionHeartbeat ')
    }
    $cluster.pods = @(New-Pod 'b')
    Set-Values $cluster @{ beats = @(); guarded = 'b'; clock = -1000000; calls = @() }
    $machine.drain.heartbeatSeconds = 0
    Assert-False (Invoke-Drain $machine 'n' 1 'drain')
    # Once in each round, and once more behind each eviction.
    $rounds = @($cluster.calls -like 'get pods *').Count
    Assert-True ($rounds -gt 1 -and $cluster.beats.Count -gt $rounds)
    $machine.drain.heartbeatSeconds = 300
}

$drain = ConvertTo-Data @{ seconds = 600; spotSeconds = 20; reserveSeconds = 20; ends = 'Terminate Preempt' }
Test 'time until an event of Azure, less the reserve, within bounds, by the clock of the host that has told it' {
    foreach ($minutes in 0, -25, 25) {
        $clock.host = [TimeSpan]::Zero
        if ($minutes) { Set-Clock 'http://169.254.169.254/metadata/x' ([DateTime]::UtcNow.AddMinutes($minutes).ToString('R')) }
        foreach ($case in @{ at = 7200; least = 600; most = 600 }, @{ at = -9; least = 5; most = 5 }, @{ at = 320; least = 295; most = 302 }) {
            $left = Get-EventSeconds ([DateTime]::UtcNow.AddMinutes($minutes).AddSeconds($case.at).ToString('R')) $drain
            Assert-True ($left -ge $case.least -and $left -le $case.most)
        }
    }
    $clock.host = [TimeSpan]::Zero
    foreach ($none in '', 'soon') { Assert-Equal (Get-EventSeconds $none $drain) 20 }
}
$metadata = @{}
function Get-AwsMetadata {
    param($Path, $Attempts)
    # More would cost more time than a notice leaves, when the service cannot be reached.
    Assert-Equal $Attempts 2
    "$($metadata[$Path])"
}
$aws = ConvertTo-Data @{ cloud = @{ kind = 'aws' }; lifecycle = @{ terminateHook = 'drain' }; drain = @{ seconds = 600; spotSeconds = 100; reserveSeconds = 20; ends = 'instance-retirement instance-stop' } }
Test 'AWS: nothing announced, scale-in, spot' {
    Assert-Equal (Get-Termination $aws) $null
    $metadata['autoscaling/target-lifecycle-state'] = 'InService'
    Assert-Equal (Get-Termination $aws) $null
    $metadata['spot/instance-action'] = '{"action":"terminate"}'
    $spot = Get-Termination $aws
    Assert-Equal @($spot.seconds, $spot.finish, $spot.hook) @(100, 'none', '')
    $metadata['autoscaling/target-lifecycle-state'] = 'Terminated'
    $both = Get-Termination $aws
    Assert-Equal @($both.seconds, $both.finish, $both.hook) @(100, 'lifecycle', '')
    $metadata.Remove('spot/instance-action')
    $scaleIn = Get-Termination $aws
    Assert-Equal @($scaleIn.seconds, $scaleIn.finish, $scaleIn.hook) @(600, 'lifecycle', 'drain')
}
foreach ($case in Read-Table @'
title|code|state|minutes|returns
soon|system-reboot|active|5|True
that ends it|instance-stop|active|5|False
in some days|system-reboot|active|7200|
that is over|system-reboot|completed|5|
'@) {
    Test "AWS: maintenance $($case.title)" {
        $metadata.Clear()
        $time = [DateTime]::UtcNow.AddMinutes($case.minutes).ToString('dd MMM yyyy HH:mm:ss', [Globalization.CultureInfo]::InvariantCulture)
        $metadata['events/maintenance/scheduled'] = "[{`"NotBefore`":`"$time GMT`",`"Code`":`"$($case.code)`",`"State`":`"$($case.state)`"}]"
        $found = Get-Termination $aws
        Assert-Equal $found.returns $case.returns
        if ($null -ne $case.returns) { Assert-True ($found.seconds -gt 260 -and $found.seconds -le 280) }
        $metadata.Clear()
    }
}
# Where nobody says who this machine is, what names nobody is not its own; Preempt comes by a clock that is behind.
foreach ($case in Read-Table @'
kind|minutes|resources[]|finish|returns
Reboot|5|me|event|True
Freeze|5|me, other|none|True
Redeploy|7200|me||
Reboot|5|other||
Terminate|5|||
Terminate|5|me|event|
Preempt|1440|me|event|
'@) {
    Test "Azure: $($case.kind) in $($case.minutes) minutes of $($case.resources)" {
        function Get-AzureMetadata {
            param($Path, $Attempts, [switch] $Text)
            if ($Text -and -not $case.resources) { throw 'no answer' }
            if ($Text) { return 'me' }
            $time = [DateTime]::UtcNow.AddMinutes($case.minutes).ToString('R', [Globalization.CultureInfo]::InvariantCulture)
            ConvertTo-Data @{ Events = @(@{ EventId = 'A'; EventType = $case.kind; Resources = $case.resources; NotBefore = $time }) }
        }
        $found = Get-Termination (ConvertTo-Data @{ cloud = @{ kind = 'azure' }; drain = $drain })
        Assert-Equal @($found.finish, $found.returns) @($case.finish, $case.returns)
        if ($case.kind -eq 'Preempt') { Assert-Equal $found.seconds 20 }
    }
}
Test 'kubectl that hangs holds a drain up to its deadline, not longer' {
    $program = New-Program 'hanging' 'Start-Sleep -Seconds 300'
    ${function:Invoke-Kubectl} = $realKubectl
    $fakeNotices.told = @()
    $real = ConvertTo-Data @{ drain = @{ columns = 'A:.a'; pauseSeconds = 1; heartbeatSeconds = 300 }; programs = @{ kubectl = $program }; paths = @{ kubeconfig = 'k' } }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    Assert-False (Invoke-Drain $real 'n' 8)
    Assert-True ($watch.Elapsed.TotalSeconds -lt 25)
    Assert-Equal $fakeNotices.told[-1] 'drain of node n reached its deadline, and nobody has said which pods are left'
}
Test 'AWS: a path of the metadata that fails hides no spot notice, and a page that is no notice is none' {
    function Get-AwsMetadata {
        param($Path, $Attempts)
        if ($Path -like 'autoscaling/*') { throw 'answered with 500' }
        $metadata['spot/instance-action']
    }
    $metadata['spot/instance-action'] = '{"action":"terminate"}'
    Assert-Equal (Get-Termination $aws).seconds 100
    $metadata['spot/instance-action'] = '<html>busy</html>'
    Assert-Equal (Get-Termination $aws) $null
}
Complete-Tests
