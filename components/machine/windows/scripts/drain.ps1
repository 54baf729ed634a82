# The node drains itself: cordon, evict its own pods within their disruption budgets, delete what is left at the deadline. kubectl drain would
# request DaemonSets, which a node may not read.
param(
    [int] $Seconds,
    # Lifecycle hook that waits for the end of the drain; empty when there is none.
    [string] $Hook = ''
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/identity.ps1"

function Invoke-Kubectl {
    param(
        [object] $Machine,
        [string[]] $Arguments
    )
    Invoke-Program $Machine.programs.kubectl (@('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s') + $Arguments)
}

# The node's pods, from the lines of kubectl: namespace, name, phase, kinds of owners, mirror, time of deletion.
function Get-OwnPods {
    param(
        [object] $Machine,
        [string] $Node
    )
    $lines = Invoke-Kubectl $Machine @('get', 'pods', '--all-namespaces', '--field-selector', "spec.nodeName=$Node", '--no-headers', '-o', "custom-columns=$($Machine.drain.columns)")
    foreach ($line in @($lines | Where-Object { "$_".Trim() })) {
        $values = @(-split $line)
        @{ namespace = $values[0]; name = $values[1]; phase = $values[2]; owners = @($values[3] -split ','); mirror = $values[4] -ne '<none>'; leaves = $values[5] -ne '<none>' }
    }
}

# Pods that must go: not those of DaemonSets, which ignore a cordon, nor mirror pods, nor those that have ended.
function Select-Pods {
    param(
        [object[]] $Pods
    )
    $Pods | Where-Object { $_ -and $_.owners -notcontains 'DaemonSet' -and -not $_.mirror -and 'Succeeded', 'Failed' -notcontains $_.phase }
}

# Requests one eviction. Refusal by a disruption budget is no error: the next round tries again.
function Send-Eviction {
    param(
        [object] $Machine,
        [object] $Pod
    )
    $meta = @{ name = $Pod.name; namespace = $Pod.namespace }
    $file = "$($Machine.paths.state)/eviction.json"
    Write-Text $file (@{ apiVersion = 'policy/v1'; kind = 'Eviction'; metadata = $meta } | ConvertTo-Json -Compress)
    try {
        Invoke-Kubectl $Machine @('create', '--raw', "/api/v1/namespaces/$($meta.namespace)/pods/$($meta.name)/eviction", '-f', $file) | Out-Null
    }
    catch {
        Write-Log "eviction of $($meta.namespace)/$($meta.name): $_"
    }
}

# Restarts the hook's timeout. The drain has its own deadline all the same.
function Send-Heartbeat {
    param(
        [object] $Machine,
        [string] $Hook
    )
    try {
        Send-Lifecycle $Machine $Hook 'RecordLifecycleActionHeartbeat'
    }
    catch {
        Write-Log "heartbeat of hook ${Hook}: $_"
    }
}

# True when every pod was evicted before the deadline.
function Invoke-Drain {
    param(
        [object] $Machine,
        [string] $Node,
        [int] $Seconds,
        [string] $Hook = ''
    )
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $beat = 0
    Write-Notice "drain of node $Node within $Seconds s"
    $pods = $null
    while ($watch.Elapsed.TotalSeconds -lt $Seconds) {
        try {
            Invoke-Kubectl $Machine @('cordon', $Node) | Out-Null
            $pods = @(Select-Pods @(Get-OwnPods $Machine $Node))
            if ($pods.Count -eq 0) {
                Write-Notice "node $Node is drained after $([int] $watch.Elapsed.TotalSeconds) s"
                return $true
            }
            foreach ($pod in @($pods | Where-Object { -not $_.leaves })) {
                Send-Eviction $Machine $pod
            }
        }
        catch {
            Write-Log "drain: $_"
        }
        # After the evictions, because an unresponsive cloud takes its time.
        if ($Hook -and $watch.Elapsed.TotalSeconds -ge $beat) {
            Send-Heartbeat $Machine $Hook
            $beat = $watch.Elapsed.TotalSeconds + $Machine.drain.heartbeatSeconds
        }
        Start-Sleep -Seconds $Machine.drain.pauseSeconds
    }
    Write-Notice "drain of node $Node reached its deadline, $($pods.Count) pods left" 'Warning'
    foreach ($pod in @($pods | Where-Object { $_ })) {
        try {
            Invoke-Kubectl $Machine @('delete', 'pod', $pod.name, '--namespace', $pod.namespace, '--wait=false') | Out-Null
        }
        catch {
            Write-Log "not deleted: $_"
        }
    }
    $false
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'drain'
Initialize-Web
Invoke-Drain $machine (Get-Node $machine).name $Seconds $Hook | Out-Null
exit 0
