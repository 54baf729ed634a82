# Self-drain: which pods go, disruption budgets, the deadline, and what the clouds announce.
. "$PSScriptRoot/harness.ps1"
. "$scripts/drain.ps1" -Seconds 1
. "$scripts/notice.ps1"

$cluster = @{}
# The real one, before the fake below takes its name.
$realKubectl = ${function:Invoke-Kubectl}
function Send-Lifecycle {
    param($Machine, [string] $Hook, [string] $Action, [string] $Result = '')
    $cluster.beats += "$Hook $Action $Result"
    if ($cluster.silent) { throw 'no answer' }
}
. "$PSScriptRoot/log-fake.ps1"
# A round of the drain takes real time to be counted; a short one keeps the test short.
function Start-Sleep {
    param([double] $Seconds)
    [Threading.Thread]::Sleep(20)
    $cluster.clock += 1
    if ($cluster.clock -ge 3) {
        $cluster.guarded = @()
        $cluster.unreachable = $false
    }
}
function New-Pod {
    param(
        [string] $Name,
        [string] $Owner = 'ReplicaSet',
        [string] $Phase = 'Running',
        [string] $Mirror = '<none>',
        [string] $Deleted = '<none>'
    )
    @{ name = $Name; line = "default     $Name     $Phase   $Owner   $Mirror   $Deleted" }
}
function Invoke-Kubectl {
    param($Machine, [string[]] $Arguments, [hashtable] $Deadline, [string] $Text = '')
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
    param([object[]] $Pods)
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
Test 'a pod that goes already is not asked again, but waited for' {
    Reset-Cluster @(New-Pod 'a' 'ReplicaSet' 'Running' '<none>' '2026-11-21T10:00:00Z')
    $cluster.clock = -1000000
    Assert-False (Invoke-Drain $machine 'n' 1)
    Assert-Equal @($cluster.calls -like 'create *') @()
}
Test 'an empty node is drained at once, and cordoned before anything is told' {
    Reset-Cluster @()
    function Write-Notice { $cluster.calls += $args[0] }
    Assert-True (Invoke-Drain $machine 'n' 30)
    $look = 'get node n -o jsonpath={.spec.unschedulable},{.metadata.annotations.fenestra\.dev/cordoned},{.metadata.labels}'
    Assert-Equal $cluster.calls @($look, 'patch node n --type merge -p {"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}', 'drain of node n within 30 s', 'get pods --all-namespaces --field-selector spec.nodeName=n --no-headers -o custom-columns=A:.a,B:.b', 'node n is drained after 0 s', 'get node n --ignore-not-found -o jsonpath={.status.volumesInUse[*]}')
}
Test 'a machine that goes waits until its disks are not in use, one that is back does not' {
    foreach ($case in @{ looks = 3; returns = $false }, @{ looks = 0; returns = $true }) {
        Reset-Cluster @()
        $cluster.disks = 2
        Assert-True (Invoke-Drain $machine 'n' 30 -Returns:$case.returns)
        Assert-Equal @($cluster.calls -like '*volumesInUse*').Count $case.looks
    }
}
$cordons = '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}'
$frees = '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}'
$excluded = '"node.kubernetes.io/exclude-from-external-load-balancers":'
$labels = "{`"metadata`":{`"labels`":{$excluded`"fenestra-drain`"}}}"
$unlabels = "{`"metadata`":{`"labels`":{${excluded}null}}}"
foreach ($case in @(
    @{ node = ',,{"a":"b"}'; patches = @($cordons) }
    @{ node = 'true,,{}'; patches = @() }
    @{ node = 'true,notice,{}'; patches = @() }
    @{ node = ',,{"a":"b","c":"d"}'; how = @{ Leaves = $true }; patches = @($cordons, $labels) }
    @{ node = 'true,notice,'; how = @{ Leaves = $true }; patches = @($labels) }
    @{ node = "true,,{`"a`":`"b`",$excluded`"`"}"; how = @{ Leaves = $true }; patches = @() }
    @{ node = "true,notice,{`"a`":`"b`",$excluded`"fenestra-drain`"}"; how = @{ Off = $true }; patches = @($frees, $unlabels) }
    @{ node = "true,,{$excluded`"fenestra-drain`"}"; how = @{ Off = $true }; patches = @($unlabels) }
    @{ node = "true,notice,{$excluded`"`"}"; how = @{ Off = $true }; patches = @($frees) }
    @{ node = 'true,,{}'; how = @{ Off = $true }; patches = @() }
    @{ node = ',,{}'; how = @{ Off = $true }; patches = @() }
)) {
    Test "a node with '$($case.node)' ($($case.how.Keys)) is cordoned and labelled by us alone, and taken back by us alone" {
        Reset-Cluster @()
        $cluster.node = $case.node
        $how = if ($case.how) { $case.how } else { @{} }
        Set-Cordon $machine 'n' (New-Deadline 10) @how
        Assert-Equal @($cluster.calls -like 'patch *' -replace '^.* -p ') $case.patches
    }
}
foreach ($case in @(
    @{ services = 'ClusterIP LoadBalancer'; waits = $true }
    @{ services = 'NodePort ClusterIP'; waits = $true }
    @{ services = ''; waits = $true }
    @{ services = 'ClusterIP ExternalName'; waits = $false }
    @{ services = 'ClusterIP LoadBalancer'; mark = 'skip'; waits = $false }
    @{ services = 'ClusterIP LoadBalancer'; stays = $true; waits = $false }
    @{ services = 'ClusterIP LoadBalancer'; seconds = 4; waits = $true }
)) {
    Test "a machine that leaves, among Services '$($case.services)' $($case.mark) $($case.stays) $($case.seconds), waits for load balancers beside evictions: $($case.waits)" {
        Reset-Cluster @(New-Pod 'a')
        $cluster.services = $case.services
        $cluster.mark = $case.mark
        $most = if ($case.seconds) { $case.seconds } else { 600 }
        $far = ConvertTo-Data @{ drain = @{ pauseSeconds = 5; away = if ($case.seconds) { 600 } else { 2 }; heartbeatSeconds = 1; columns = 'A:.a' } }
        $watch = [Diagnostics.Stopwatch]::StartNew()
        $drained = Invoke-Drain $far 'n' $most 'hook' -Leaves:(-not $case.stays)
        Assert-Equal $drained ($case.mark -ne 'skip')
        Assert-Equal ($watch.Elapsed.TotalSeconds -ge 0.9) $case.waits
        Assert-True ($watch.Elapsed.TotalSeconds -lt 30)
        $steps = @($cluster.calls -match '^(patch|create)' -replace '^.* -p ' -replace '^create .*', 'evicts')
        $told = @($cordons) + @(if (-not $case.stays) { $labels })
        Assert-Equal $steps ($told + @(if (-not $case.mark) { 'evicts' }))
        Assert-Equal ($cluster.beats.Count -gt 1) $case.waits
    }
}
Test 'a label that was refused is tried again, and the wait begins with it' {
    Reset-Cluster @()
    $cluster.services = 'ClusterIP LoadBalancer'
    $cluster.unreachable = $true
    Assert-True (Invoke-Drain $machine 'n' 30 -Leaves)
    Assert-Equal @($cluster.calls -like "patch *$labels").Count 1
}
Test 'a pod that its disruption budget holds is asked again until it may go' {
    Reset-Cluster @((New-Pod 'a'), (New-Pod 'b'))
    $cluster.guarded = @('b')
    Assert-True (Invoke-Drain $machine 'n' 30)
    Assert-Equal $cluster.beats @()
    $asked = @($cluster.calls -like 'create --raw /api/v1/namespaces/default/pods/b/eviction *')
    Assert-True ($asked.Count -gt 1)
    Assert-Equal @($cluster.calls -like 'delete *').Count 0
}
Test 'what is left at the deadline is deleted, but not from a machine that is back afterwards' {
    foreach ($returns in $true, $false) {
        Reset-Cluster @(New-Pod 'b')
        $cluster.guarded = @('b')
        $cluster.clock = -1000000
        Assert-False (Invoke-Drain $machine 'n' 1 -Returns:$returns)
        Assert-Equal @($cluster.calls -like 'delete *').Count ([int] (-not $returns))
    }
    Assert-Equal $cluster.calls[-1] 'delete --wait=false --ignore-not-found -f -'
    Assert-Equal @(($cluster.text | ConvertFrom-Json).items | ForEach-Object { "$($_.kind) $($_.metadata.namespace)/$($_.metadata.name)" }) @('Pod default/b')
    Assert-Equal $fakeNotices.told[-1] 'drain of node n ended with 1 pods left'
}
Test 'a pod is deleted within the time that was given, though evictions are slow' {
    Reset-Cluster @(New-Pod 'b')
    $cluster.guarded = @('b')
    $cluster.clock = -1000000
    $watch = [Diagnostics.Stopwatch]::StartNew()
    Assert-False (Invoke-Drain $machine 'n' 3)
    Assert-True ($watch.Elapsed.TotalSeconds -lt 3)
    Assert-Equal $cluster.calls[-1] 'delete --wait=false --ignore-not-found -f -'
}
Test 'a machine whose Node is marked goes at once, and one that is back afterwards drains all the same' {
    Reset-Cluster @(New-Pod 'b')
    $cluster.guarded = @('b')
    $cluster.mark = 'skip'
    Assert-False (Invoke-Drain $machine 'n' 600)
    Assert-Equal @($cluster.calls -like 'create *').Count 0
    Assert-Equal @($cluster.calls -like 'delete *').Count 1
    Assert-True (Invoke-Drain $machine 'n' 600 -Returns)
}
Test 'the hook hears at the start that the drain goes on, answered or not, and not again before its time' {
    foreach ($silent in $false, $true) {
        Reset-Cluster @((New-Pod 'a'), (New-Pod 'b'))
        $cluster.guarded = @('b')
        $cluster.silent = $silent
        Assert-True (Invoke-Drain $machine 'n' 30 'drain')
        Assert-Equal $cluster.beats @('drain RecordLifecycleActionHeartbeat ')
    }
}
Test 'the hook hears in intervals until the deadline, and not after it' {
    Reset-Cluster @(New-Pod 'b')
    $cluster.guarded = @('b')
    $cluster.clock = -1000000
    $often = ConvertTo-Data @{ paths = @{ state = "$temp/state" }; drain = @{ pauseSeconds = 5; heartbeatSeconds = 0; columns = 'A:.a' } }
    $watch = [Diagnostics.Stopwatch]::StartNew()
    Assert-False (Invoke-Drain $often 'n' 1 'drain')
    Assert-True ($watch.Elapsed.TotalSeconds -lt 10)
    $beats = $cluster.beats.Count
    Assert-True ($beats -gt 1)
    # Once in each round, and once more behind each eviction.
    $rounds = @($cluster.calls -like 'get pods *').Count
    Assert-True ($beats -ge $rounds)
}
Test 'somebody has deleted the Node already: its pods are evicted all the same, and none is deleted' {
    Reset-Cluster @((New-Pod 'a'), (New-Pod 'b'))
    $cluster.own = @()
    $cluster.gone = $true
    Assert-True (Invoke-Drain $machine 'n' 30)
    Assert-Equal @($cluster.calls -like 'create *').Count 2
    Assert-Equal @($cluster.calls -like 'delete *').Count 0
}
Test 'an API that answers again is used; one that never does leaves what is there unknown, not none' {
    Reset-Cluster @(New-Pod 'a')
    $cluster.unreachable = $true
    Assert-True (Invoke-Drain $machine 'n' 30)
    $cluster.unreachable = $true
    $cluster.clock = -1000000
    Assert-False (Invoke-Drain $machine 'n' 1)
    Assert-Equal $fakeNotices.told[-1] 'drain of node n reached its deadline, and nobody has said which pods are left'
}
Test 'a list without any pod of a DaemonSet is none: nobody has said that the machine is empty' {
    Reset-Cluster @(New-Pod 'a')
    $cluster.own = @()
    $cluster.pods = @()
    Assert-False (Invoke-Drain $machine 'n' 1)
    Assert-Equal $fakeNotices.told[-1] 'drain of node n reached its deadline, and nobody has said which pods are left'
}
Test 'a warning that kubectl writes is not taken for a part of its answer' {
    $program = New-Program 'kubectl' '[Console]::Error.WriteLine("Warning: v1 Endpoints is deprecated"); "default   a   Running   DaemonSet   <none>   <none>"'
    ${function:Invoke-Kubectl} = $realKubectl
    $real = ConvertTo-Data @{ drain = @{ columns = 'A:.a' }; programs = @{ kubectl = $program }; paths = @{ kubeconfig = 'k' } }
    Assert-Equal @(Get-OwnPods $real 'n' (New-Deadline 30) | ForEach-Object { $_.name }) @('a')
}

$drain = ConvertTo-Data @{ seconds = 600; spotSeconds = 20; reserveSeconds = 20; ends = 'Terminate Preempt' }
Test 'time until an event of Azure, less the reserve, within bounds' {
    Assert-Equal (Get-EventSeconds '' $drain) 20
    Assert-Equal (Get-EventSeconds 'soon' $drain) 20
    Assert-Equal (Get-EventSeconds ([DateTime]::UtcNow.AddHours(2).ToString('R')) $drain) 600
    Assert-Equal (Get-EventSeconds ([DateTime]::UtcNow.AddSeconds(-9).ToString('R')) $drain) 5
    $left = Get-EventSeconds ([DateTime]::UtcNow.AddSeconds(320).ToString('R')) $drain
    Assert-True ($left -ge 295 -and $left -le 301)
}
$metadata = @{}
function Get-AwsMetadata {
    param([string] $Path, [int] $Attempts)
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
foreach ($case in @(
    @{ title = 'soon'; state = 'active'; minutes = 5; returns = $true }
    @{ title = 'that ends it'; code = 'instance-stop'; state = 'active'; minutes = 5; returns = $false }
    @{ title = 'in some days'; state = 'active'; minutes = 7200; returns = $null }
    @{ title = 'that is over'; state = 'completed'; minutes = 5; returns = $null }
)) {
    Test "AWS: maintenance $($case.title)" {
        $metadata.Clear()
        $time = [DateTime]::UtcNow.AddMinutes($case.minutes).ToString('dd MMM yyyy HH:mm:ss', [Globalization.CultureInfo]::InvariantCulture)
        $metadata['events/maintenance/scheduled'] = "[{`"NotBefore`":`"$time GMT`",`"Code`":`"$(if ($case.code) { $case.code } else { 'system-reboot' })`",`"State`":`"$($case.state)`"}]"
        $found = Get-Termination $aws
        Assert-Equal $found.returns $case.returns
        if ($null -ne $case.returns) { Assert-True ($found.seconds -gt 260 -and $found.seconds -le 280) }
        $metadata.Clear()
    }
}
foreach ($case in @(
    @{ kind = 'Reboot'; minutes = 5; resources = @('me'); finish = 'event'; returns = $true }
    @{ kind = 'Freeze'; minutes = 5; resources = @('me', 'other'); finish = 'none'; returns = $true }
    @{ kind = 'Redeploy'; minutes = 7200; resources = @('me') }
    @{ kind = 'Reboot'; minutes = 5; resources = @('other') }
    # Where nobody says who this machine is, what names nobody is not its own.
    @{ kind = 'Terminate'; minutes = 5; resources = $null; silent = $true }
    @{ kind = 'Terminate'; minutes = 5; resources = @('me'); finish = 'event' }
    # By a clock that is behind.
    @{ kind = 'Preempt'; minutes = 1440; resources = @('me'); finish = 'event' }
)) {
    Test "Azure: $($case.kind) in $($case.minutes) minutes of $($case.resources)" {
        function Get-AzureMetadata {
            param([string] $Path, [int] $Attempts, [switch] $Text)
            if ($Text -and $case.silent) { throw 'no answer' }
            if ($Text) { return 'me' }
            $time = [DateTime]::UtcNow.AddMinutes($case.minutes).ToString('R', [Globalization.CultureInfo]::InvariantCulture)
            ConvertTo-Data @{ Events = @(@{ EventId = 'A'; EventType = $case.kind; Resources = $case.resources; NotBefore = $time }) }
        }
        $found = Get-Termination (ConvertTo-Data @{ cloud = @{ kind = 'azure' }; drain = $drain })
        Assert-Equal @($found.finish, $found.returns) @($case.finish, $case.returns)
        if ($case.kind -eq 'Preempt') { Assert-Equal $found.seconds 20 }
    }
}
Test 'the time that is left is by the clock of the host that has told it' {
    foreach ($minutes in -25, 25) {
        Set-Clock 'http://169.254.169.254/metadata/x' ([DateTime]::UtcNow.AddMinutes($minutes).ToString('R', [Globalization.CultureInfo]::InvariantCulture))
        $left = Get-EventSeconds ([DateTime]::UtcNow.AddMinutes($minutes + 5).ToString('R', [Globalization.CultureInfo]::InvariantCulture)) @{ reserveSeconds = 20; spotSeconds = 20 } 900
        Assert-True ($left -gt 270 -and $left -le 282)
    }
    $clock.host = [TimeSpan]::Zero
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
        param([string] $Path, [int] $Attempts)
        if ($Path -like 'autoscaling/*') { throw 'answered with 500' }
        $metadata['spot/instance-action']
    }
    $metadata['spot/instance-action'] = '{"action":"terminate"}'
    Assert-Equal (Get-Termination $aws).seconds 100
    $metadata['spot/instance-action'] = '<html>busy</html>'
    Assert-Equal (Get-Termination $aws) $null
}
Complete-Tests
