# The node drains itself: cordon, evict its own pods within their disruption budgets, delete what is left at the
# deadline. kubectl drain would request DaemonSets, which a node may not read.
param(
    # 0: pods may come again, if it was a drain that has kept them away.
    [int] $Seconds,
    # Lifecycle hook that waits for the end of the drain; empty when there is none.
    [string] $Hook = '',
    # The machine is back afterwards: what cannot move stays.
    [switch] $Returns,
    # The machine goes for good: load balancers of Services let it go too.
    [switch] $Leaves
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/identity.ps1"

# Calls the API with the node's own permissions. No call takes longer than what is left of the time.
function Invoke-Kubectl {
    param($Machine, [string[]] $Arguments, [hashtable] $Deadline, [string] $Text = '')
    $seconds = [Math]::Max(1, [int] (Get-Left $Deadline 10))
    $common = '--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', "${seconds}s"
    Invoke-Program $Machine.programs.kubectl ($common + $Arguments) -Seconds ($seconds + 1) -Text $Text
}

# The node's pods, from the lines of kubectl: namespace, name, phase, kinds of owners, mirror, time of deletion. A
# DaemonSet's come back at once: without any the list is none, unless the Node is gone.
function Get-OwnPods {
    param($Machine, [string] $Node, [hashtable] $Deadline)
    $lines = Invoke-Kubectl $Machine @('get', 'pods', '--all-namespaces', '--field-selector', "spec.nodeName=$Node", '--no-headers', '-o', "custom-columns=$($Machine.drain.columns)") $Deadline
    $pods = foreach ($line in @($lines | Where-Object { "$_".Trim() })) {
        $values = @(-split $line)
        @{ namespace = $values[0]; name = $values[1]; phase = $values[2]; owners = @($values[3] -split ','); mirror = $values[4] -ne '<none>'; leaves = $values[5] -ne '<none>' }
    }
    if (-not ($pods | Where-Object { $_.owners -contains 'DaemonSet' }) -and (Invoke-Kubectl $Machine @('get', 'node', $Node, '--ignore-not-found', '-o', 'name') $Deadline)) {
        throw 'the API names no pod of a DaemonSet, and the node has some'
    }
    $pods
}

# Pods that must go: not those of DaemonSets, which ignore a cordon, nor mirror pods, nor those that have ended.
function Select-Pods {
    param([object[]] $Pods)
    $Pods | Where-Object { $_ -and $_.owners -notcontains 'DaemonSet' -and -not $_.mirror -and 'Succeeded', 'Failed' -notcontains $_.phase }
}

# Requests one eviction. Refusal by a disruption budget is no error: the next round tries again. An API that does not
# answer is one.
function Send-Eviction {
    param($Machine, $Pod, [hashtable] $Deadline)
    $meta = @{ name = $Pod.name; namespace = $Pod.namespace }
    $body = @{ apiVersion = 'policy/v1'; kind = 'Eviction'; metadata = $meta } | ConvertTo-Json -Compress
    try {
        Invoke-Kubectl $Machine @('create', '--raw', "/api/v1/namespaces/$($meta.namespace)/pods/$($meta.name)/eviction", '-f', '-') $Deadline $body | Out-Null
    }
    catch {
        if ("$_" -notmatch 'Error from server') {
            throw
        }
        Write-Log "eviction of $($meta.namespace)/$($meta.name): $_"
    }
}

# Restarts the hook's timeout when it is time to. The drain has its own deadline all the same.
function Send-Heartbeat {
    param($Machine, [string] $Hook, [hashtable] $Beat)
    if (-not $Hook -or (Get-Left $Beat) -gt 0) {
        return
    }
    $Beat.seconds = $Beat.watch.Elapsed.TotalSeconds + $Machine.drain.heartbeatSeconds
    $CallsEnd = New-Deadline 10
    try {
        Send-Lifecycle $Machine $Hook 'RecordLifecycleActionHeartbeat'
    }
    catch {
        Write-Log "heartbeat of hook ${Hook}: $_"
    }
}

# Deletes what is left, in one call: `kubectl delete pod` knows one namespace only.
function Remove-Pods {
    param($Machine, [object[]] $Pods, [hashtable] $Deadline)
    $items = @($Pods | ForEach-Object { @{ apiVersion = 'v1'; kind = 'Pod'; metadata = @{ name = $_.name; namespace = $_.namespace } } })
    try {
        $list = ConvertTo-Json -Depth 5 -Compress -InputObject @{ apiVersion = 'v1'; kind = 'List'; items = $items }
        Invoke-Kubectl $Machine @('delete', '--wait=false', '--ignore-not-found', '-f', '-') $Deadline $list | Out-Null
    }
    catch {
        Write-Log "not deleted: $_"
    }
}

# Waits until the kubelet has said that no disk is in use any more, which it does every ten seconds. The disks of a
# machine that goes before are taken from it after six minutes only (kubernetes:
# pkg/controller/volume/attachdetach/reconciler, MountedByNode).
function Wait-Disks {
    param($Machine, [string] $Node, [hashtable] $Deadline)
    $most = New-Deadline ([int] (Get-Left $Deadline 30))
    $used = 'unknown'
    while ((Get-Left $most) -gt 0) {
        try {
            $used = "$(Invoke-Kubectl $Machine @('get', 'node', $Node, '--ignore-not-found', '-o', 'jsonpath={.status.volumesInUse[*]}') $most)"
        }
        catch {
            $used = "$_"
        }
        if (-not $used) {
            return
        }
        Start-Sleep -Seconds ([int] (Get-Left $most $Machine.drain.pauseSeconds))
    }
    Write-Log "disks are in use, or nobody says that they are not: $used"
}

# Cordons the node, with a mark, unless somebody else has: that stays. One that leaves also gets the label for which load
# balancers of Services let it go, whatever its value, which is our mark; for a cordon they do not
# (kubernetes/cloud-provider: controllers/service/controller.go, stableNodeSetPredicates). With -Off what has a mark is
# taken back.
function Set-Cordon {
    param($Machine, [string] $Node, [hashtable] $Deadline, [switch] $Leaves, [switch] $Off)
    $is = "$(Invoke-Kubectl $Machine @('get', 'node', $Node, '-o', 'jsonpath={.spec.unschedulable},{.metadata.annotations.fenestra\.dev/cordoned},{.metadata.labels}') $Deadline)"
    $cordoned, $mark, $labels = $is -split ',', 3
    $label = '{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":'
    $patches = @(
        if ($Off -and $mark) {
            '{"metadata":{"annotations":{"fenestra.dev/cordoned":null}},"spec":{"unschedulable":null}}'
        }
        if ($Off -and $labels -like '*/exclude-from-external-load-balancers":"fenestra-drain"*') {
            $label + 'null}}}'
        }
        if (-not $Off -and $cordoned -ne 'true') {
            '{"metadata":{"annotations":{"fenestra.dev/cordoned":"notice"}},"spec":{"unschedulable":true}}'
        }
        if ($Leaves -and $labels -notlike '*/exclude-from-external-load-balancers":*') {
            $label + '"fenestra-drain"}}}'
        }
    )
    foreach ($patch in $patches) {
        Invoke-Kubectl $Machine @('patch', 'node', $Node, '--type', 'merge', '-p', $patch) $Deadline | Out-Null
        Write-Log "node ${Node}: $patch"
    }
}

# Whether somebody has marked the Node, so that its machine goes without a drain.
function Test-Unwanted {
    param($Machine, [string] $Node, [hashtable] $Deadline)
    "$(Invoke-Kubectl $Machine @('get', 'node', $Node, '--ignore-not-found', '-o', 'jsonpath={.metadata.annotations.fenestra\.dev/drain}') $Deadline)" -eq 'skip'
}

# Cordons once, as soon as the API lets it: somebody may have deleted the Node already, whose pods move all the same. The
# first time also tells that the drain has begun.
function Start-Drain {
    param($Machine, [string] $Node, [hashtable] $Drain, [switch] $Leaves)
    if (-not $Drain.cordoned) {
        try {
            Set-Cordon $Machine $Node $Drain.deadline -Leaves:$Leaves
            $Drain.cordoned = $true
            $Drain.away = New-Deadline $Machine.drain.away
        }
        catch {
            Write-Log "not cordoned: $_"
        }
    }
    if (-not $Drain.begun) {
        $Drain.begun = $true
        Write-Notice "drain of node $Node within $($Drain.seconds) s"
    }
}

# Whether a machine without pods may go: its disks are free, and load balancers send nothing new to one that leaves.
# Nobody waits where no Service has ports on machines; there is always the API's.
function Test-Away {
    param($Machine, [string] $Node, [hashtable] $Drain, [switch] $Returns, [switch] $Leaves)
    if (-not $Drain.drained) {
        $Drain.drained = $true
        Write-Notice "node $Node is drained after $([int] $Drain.deadline.watch.Elapsed.TotalSeconds) s"
        if (-not $Returns) {
            Wait-Disks $Machine $Node $Drain.end
        }
    }
    -not $Leaves -or (Get-Left $Drain.away) -le 0 -or "$(Invoke-Kubectl $Machine @('get', 'services', '--all-namespaces', '-o', 'jsonpath={.items[*].spec.type}') $Drain.deadline)" -match '^((ClusterIP|ExternalName) ?)+$'
}

# The end of a drain whose time is over, or whose Node is marked: true where no pod is left. Of the time a part is for the
# deletion of what is.
function Stop-Drain {
    param($Machine, [string] $Node, [hashtable] $Drain, [switch] $Returns)
    if ($null -eq $Drain.pods) {
        Write-Notice "drain of node $Node reached its deadline, and nobody has said which pods are left" 'Warning'
        return $false
    }
    if ($Drain.pods.Count -eq 0) {
        return $true
    }
    Write-Notice "drain of node $Node ended with $($Drain.pods.Count) pods left" 'Warning'
    if (-not $Returns) {
        Remove-Pods $Machine $Drain.pods $Drain.end
    }
    $false
}

# True when every pod was evicted before the deadline. A machine that leaves waits, as long as the time allows, until
# load balancers send nothing new to it.
function Invoke-Drain {
    param($Machine, [string] $Node, [int] $Seconds, [string] $Hook = '', [switch] $Returns, [switch] $Leaves)
    $drain = @{ seconds = $Seconds; end = New-Deadline $Seconds; deadline = New-Deadline ($Seconds - [Math]::Min(10, $Seconds / 3)); away = New-Deadline $Machine.drain.away }
    $deadline = $drain.deadline
    $beat = New-Deadline 0
    while ((Get-Left $deadline) -gt 0) {
        Start-Drain $Machine $Node $drain -Leaves:$Leaves
        Send-Heartbeat $Machine $Hook $beat
        try {
            $drain.pods = @(Select-Pods @(Get-OwnPods $Machine $Node $deadline))
            if ($drain.pods.Count -eq 0 -and (Test-Away $Machine $Node $drain -Returns:$Returns -Leaves:$Leaves)) {
                return $true
            }
            if (-not $Returns -and (Test-Unwanted $Machine $Node $deadline)) {
                Write-Log "node $Node has fenestra.dev/drain: skip"
                break
            }
            foreach ($pod in @($drain.pods | Where-Object { -not $_.leaves })) {
                if ((Get-Left $deadline) -le 0) {
                    break
                }
                Send-Eviction $Machine $pod $deadline
                Send-Heartbeat $Machine $Hook $beat
            }
        }
        catch {
            Write-Log "drain: $_"
        }
        Start-Sleep -Seconds ([int] (Get-Left $deadline $Machine.drain.pauseSeconds))
    }
    Stop-Drain $Machine $Node $drain -Returns:$Returns
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'drain'
Initialize-Web
$node = Get-OwnName $machine
if (-not $node) {
    throw 'nobody says which node this is'
}
if ($Seconds -gt 0) {
    Invoke-Drain $machine $node $Seconds $Hook -Returns:$Returns -Leaves:$Leaves | Out-Null
}
else {
    Set-Cordon $machine $node (New-Deadline 20) -Off
}
exit 0
