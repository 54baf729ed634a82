# Self-drain: which pods go, disruption budgets, the deadline, and what the clouds announce.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/drain.ps1" -Seconds 1
. "$scripts/notice.ps1"

function Send-Lifecycle {
    param($Machine, $Hook, $Action, $Result = '')
    $fakePc.beats += "$Hook $Action $Result"
    if ($fakePc.silent) { throw 'no answer' }
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
function Get-Kubectl {
    param($All, $Text)
    $Arguments = @($All | Select-Object -Skip 4)
    $fakePc.asked += $Arguments -join ' '
    $fakePc.text = $Text
    if ($fakePc.unreachable) { throw 'kubectl.exe ended with 1: Unable to connect to the server: EOF' }
    if ($Arguments[-1] -like '*dev/drain}') { return $fakePc.mark }
    if ($Arguments[-1] -like '*volumesInUse*') {
        $fakePc.disks -= 1
        if ($fakePc.disks -ge 0) { return 'kubernetes.io/csi/disk' }
        return
    }
    if ($Arguments[-1] -eq 'name' -and $fakePc.gone) { return }
    if ($Arguments[1] -eq 'node' -and $fakePc.gone) { throw 'kubectl.exe ended with 1: Error from server (NotFound): nodes "n" not found' }
    if ($Arguments[0] -eq 'get' -and $Arguments[1] -eq 'node') { return $fakePc.node }
    if ($Arguments[1] -eq 'services') { return $fakePc.offers }
    if ($Arguments[0] -eq 'get') { return @($fakePc.pods) + @($fakePc.own) | Where-Object { $_ } | ForEach-Object { $_.line } }
    if ($Arguments[0] -eq 'create') {
        $name = ($Arguments[2] -split '/')[-2]
        if ($fakePc.guarded -contains $name) { throw 'Error from server (TooManyRequests): Cannot evict pod as it would violate the pod''s disruption budget.' }
        $fakePc.pods = @($fakePc.pods | Where-Object { $_.name -ne $name })
    }
}
function Reset-Cluster {
    param($Pods)
    Reset-Pc @{
        pods = @($Pods); own = @(New-Pod 'flannel' 'DaemonSet'); guarded = @(); asked = @(); beats = @(); node = ',,{}'; offers = 'ClusterIP'; disks = 0
        clock = 0; silent = $false; unreachable = $false; gone = $false; mark = ''; programs = @{ 'kubectl.exe' = { Get-Kubectl $args[0] $args[1] } }
        onSleep = { $fakePc.clock += 1; if ($fakePc.clock -ge 3) { Set-Values $fakePc @{ guarded = @(); unreachable = $false } } }
    }
}
$machine = New-Data @'
drain {"pauseSeconds":5,"away":1,"heartbeatSeconds":300,"columns":"A:.a,B:.b"}
'@

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
    function Write-Notice { $fakePc.asked += $args[0] }
    Assert-True (Invoke-Drain $machine 'n' 30)
    Assert-Equal $fakePc.asked @('get node n -o jsonpath={.spec.unschedulable},{.metadata.annotations.fenestra\.dev/cordoned},{.metadata.labels}', 'patch node n --type merge -p {"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}', 'drain of node n within 30 s', 'get pods --all-namespaces --field-selector spec.nodeName=n --no-headers -o custom-columns=A:.a,B:.b', 'node n is drained after 0 s', 'get node n --ignore-not-found -o jsonpath={.status.volumesInUse[*]}')
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
    Test "a node with '$($case.node)' ($($case.how)) is ours alone to cordon, label and take back" {
        Reset-Cluster @()
        $fakePc.node = $case.node.Replace('EXCLUDED', $excluded)
        $how = @{}
        if ($case.how) { $how[$case.how] = $true }
        Set-Cordon $machine 'n' (New-Deadline 10) @how
        Assert-Equal @($fakePc.asked -like 'patch *' -replace '^.* -p ') @($case.patches | ForEach-Object { (Get-Variable $_).Value })
    }
}
foreach ($case in Read-Table @'
services|mark|stays|seconds|waits
ClusterIP LoadBalancer||||True
||||True
ClusterIP ExternalName||||False
ClusterIP LoadBalancer|skip|||False
ClusterIP LoadBalancer||yes||False
ClusterIP LoadBalancer|||4|True
'@) {
    Test "a leaving machine, Services '$($case.services)' $($case.mark) $($case.stays) $($case.seconds), waits for balancers: $($case.waits)" {
        Reset-Cluster @(New-Pod 'a')
        $fakePc.offers = $case.services
        $fakePc.mark = $case.mark
        $most = if ($case.seconds) { $case.seconds } else { 600 }
        $far = New-Data "drain.pauseSeconds 0`ndrain.heartbeatSeconds 1`ndrain.away $(if ($case.seconds) { 600 } else { 2 })"
        Assert-Equal (Invoke-Drain $far 'n' $most 'hook' -Leaves:(-not $case.stays)) (-not $case.mark)
        Assert-Equal ($fakePc.time -ge 0.9) $case.waits
        Assert-Equal @($fakePc.asked -match '^(patch|create)' -replace '^.* -p ' -replace '^create .*', 'evicts') (@($cordons) + @(if (-not $case.stays) { $labels }) + @(if (-not $case.mark) { 'evicts' }))
        Assert-Equal ($fakePc.beats.Count -gt 1) $case.waits
    }
}
# What is there, asked for and done: evictions at least, and none where 0. What is held by the clock never changes.
foreach ($case in Read-Table @'
drain|pods[]|set|how|seconds|done|evicts|deletes|looks|told
waits for a pod that goes already|going|clock=-1000000||1|False|0|1||
asks again for a pod that its disruption budget holds|a, b|guarded=b||60|True|3|0||
leaves what cannot move on a machine that is back afterwards|b|guarded=b clock=-1000000|Returns|1|False|1|0||
deletes the rest within its time|b|guarded=b clock=-1000000||3|False|1|1||drain of node n ended with 1 pods left
is none where the Node is marked|b|guarded=b mark=skip||600|False|0|1||
moves the pods of a Node that is gone, and deletes none|a, b|own= gone=1||30|True|2|0||
goes on with an API that answers again|a|unreachable=1||60|True|1|0||
knows nothing where the API never answers|a|unreachable=1 clock=-1000000||1|False|0|0||nobody has said which pods are left
takes a list without any pod of a DaemonSet for none||own=||1|False|0|0||nobody has said which pods are left
waits until disks are not in use||disks=2||30|True|0|0|3|
'@) {
    Test "a drain $($case.drain)" {
        Reset-Cluster @($case.pods | ForEach-Object { if ($_ -eq 'going') { New-Pod 'b' -Deleted '2026-11-21T10:00:00Z' } else { New-Pod $_ } })
        Set-Values $fakePc $case.set
        $how = @{}
        if ($case.how) { $how[$case.how] = $true }
        Assert-Equal (Invoke-Drain $machine 'n' $case.seconds @how) $case.done
        if ($case.seconds -eq 3) { Assert-True ($fakePc.time -lt 3) }
        $evicted = @($fakePc.asked -like 'create --raw /api/v1/namespaces/default/pods/*/eviction *').Count
        Assert-True ($evicted -ge $case.evicts -and ($case.evicts -gt 0 -or -not $evicted))
        Assert-Equal @($fakePc.asked -like 'delete *').Count $case.deletes
        if ($case.deletes -eq 1) {
            Assert-Equal $fakePc.asked[-1] 'delete --wait=false --ignore-not-found -f -'
            Assert-Equal @(($fakePc.text | ConvertFrom-Json).items | ForEach-Object { "$($_.kind) $($_.metadata.namespace)/$($_.metadata.name)" }) @('Pod default/b')
        }
        Assert-True $fakePc.told[-1].EndsWith("$($case.told)")
        if ($null -ne $case.looks) { Assert-Equal @($fakePc.asked -like '*volumesInUse*').Count $case.looks }
    }
}
Test 'the hook hears that the drain goes on, answered or not, until the deadline' {
    foreach ($silent in $false, $true) {
        Reset-Cluster @((New-Pod 'a'), (New-Pod 'b'))
        Set-Values $fakePc @{ guarded = 'b'; silent = $silent }
        Assert-True (Invoke-Drain $machine 'n' 60 'drain')
        Assert-Equal $fakePc.beats @('drain RecordLifecycleActionHeartbeat ')
    }
}

$azure = New-Data @'
cloud.kind azure
drain {"seconds":600,"spotSeconds":20,"reserveSeconds":20,"ends":"Terminate Preempt"}
'@
Test 'time until an event of Azure, less the reserve, within bounds, by the host''s clock' {
    foreach ($minutes in 0, -25, 25) {
        $clock.host = [TimeSpan]::Zero
        if ($minutes) { Set-Clock 'http://169.254.169.254/metadata/x' ([DateTime]::UtcNow.AddMinutes($minutes).ToString('R')) }
        foreach ($case in @{ at = 7200; least = 600; most = 600 }, @{ at = -9; least = 5; most = 5 }, @{ at = 320; least = 295; most = 302 }) {
            $left = Get-EventSeconds ([DateTime]::UtcNow.AddMinutes($minutes).AddSeconds($case.at).ToString('R')) $azure.drain
            Assert-True ($left -ge $case.least -and $left -le $case.most)
        }
    }
    $clock.host = [TimeSpan]::Zero
    foreach ($none in '', 'soon') { Assert-Equal (Get-EventSeconds $none $azure.drain) 20 }
}
$metadata = @{}
function Get-AwsMetadata {
    param($Path, $Attempts)
    # More would cost more time than a notice leaves, when the service cannot be reached.
    Assert-Equal $Attempts 2
    if ($metadata[$Path] -eq 'fails') { throw 'answered with 500' }
    "$($metadata[$Path])"
}
$aws = New-Data @'
lifecycle.terminateHook drain
drain {"seconds":600,"spotSeconds":100,"reserveSeconds":20,"ends":"instance-retirement instance-stop"}
'@
foreach ($case in Read-Table @'
group|spot|code|state|minutes|seconds|finish|hook|returns
|||||||
InService|||||||
InService|{"action":"terminate"}||||100|none||
Terminated|{"action":"terminate"}||||100|lifecycle||
Terminated|||||600|lifecycle|drain|
fails|{"action":"terminate"}||||100|none||
fails|<html>busy</html>|||||||
||system-reboot|active|5|280|none||True
||instance-stop|active|5|280|none||False
||system-reboot|completed|5||||
'@) {
    Test "AWS: group '$($case.group)', spot '$($case.spot)', $($case.code) $($case.state) in $($case.minutes) minutes" {
        $metadata.Clear()
        Set-Values $metadata @{ 'autoscaling/target-lifecycle-state' = $case.group; 'spot/instance-action' = $case.spot }
        $time = [DateTime]::UtcNow.AddMinutes($case.minutes).ToString('dd MMM yyyy HH:mm:ss', [Globalization.CultureInfo]::InvariantCulture)
        if ($case.code) { $metadata['events/maintenance/scheduled'] = "[{`"NotBefore`":`"$time GMT`",`"Code`":`"$($case.code)`",`"State`":`"$($case.state)`"}]" }
        $silent = @{}
        $found = Get-Termination $aws $silent
        Assert-Equal ([bool] $silent.silent) ($case.group -eq 'fails')
        Assert-Equal @("$($found.finish)", "$($found.hook)", $found.returns) @("$($case.finish)", "$($case.hook)", $case.returns)
        Assert-True ([Math]::Abs($found.seconds - $case.seconds) -le $(if ($case.code) { 20 } else { 0 }))
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
        $found = Get-Termination $azure
        Assert-Equal @($found.finish, $found.returns) @($case.finish, $case.returns)
        if ($case.kind -eq 'Preempt') { Assert-Equal $found.seconds 20 }
    }
}
foreach ($answer in '', 'null', '{}', '[]', '"busy"', '{"error":"busy"}', '{"DocumentIncarnation":1,"Events":[]}') {
    Test "Azure: '$answer' is $(if ($answer -like '*Events*') { 'no event' } else { 'no word of events' })" {
        function Get-AzureMetadata { if ($answer) { ConvertFrom-Json $answer } }
        $silent = @{}
        Assert-Equal (Get-Termination $azure $silent) $null
        Assert-Equal ([bool] $silent.silent) ($answer -notlike '*Events*')
    }
}
Complete-Tests
