# Watches the machine: routes and logs from the start, and once it is Ready services, kubelet, kube-proxy and the pod
# network. Repairs what fails, and writes an event each time. Nothing here may wait without a limit: the scheduler
# starts a second one only when this one is gone.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/web.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/endpoints.ps1"
. "$PSScriptRoot/joined.ps1"

# A stopped service. Its recovery actions do not cover an orderly stop.
function Repair-Services {
    foreach ($name in 'containerd', 'kubelet') {
        $service = Get-Service -Name $name -ErrorAction SilentlyContinue
        if ($service -and $service.Status -eq 'Stopped') {
            Write-Notice "service $name is stopped; starting it" 'Warning'
            Start-NodeService $name
        }
    }
    # A service that the service manager restarted has normal priority.
    Set-Priority containerd
}

# True when a check has failed for some rounds. The count then starts over. A program that answers 503 is at work and
# behind, as kube-proxy is while HNS is slow (kubernetes/kubernetes#110674): it has six times as long, since a restart
# would take every load balancer away first.
function Test-Sick {
    param([object] $Machine, [hashtable] $Memory, [string] $Name, [scriptblock] $Check)
    try {
        & $Check | Out-Null
        $Memory[$Name] = 0
    }
    catch {
        $Memory[$Name] += $(if ("$_" -like '* answered with 503') { 1 / 6 } else { 1 })
    }
    if ($Memory[$Name] -lt $Machine.watch.sickRounds) {
        return $false
    }
    $Memory[$Name] = 0
    $true
}

# A health address of a program on this machine; one that does not answer within the time is an error.
function Test-Health {
    param([string] $Uri)
    $status = (Send-Web @{ Uri = $Uri } 10).status
    if ($status -ne 200) {
        throw "$Uri answered with $status"
    }
}

# A kubelet that runs but no longer responds.
function Repair-Kubelet {
    param([object] $Machine, [hashtable] $Memory)
    if (Test-Sick $Machine $Memory 'kubelet' { Test-Health $Machine.watch.kubeletHealth }) {
        Write-Notice 'the kubelet does not answer; restarting it' 'Warning'
        try {
            Stop-Within kubelet
        }
        finally {
            Start-NodeService kubelet
        }
    }
}

# A kube-proxy that runs but does not sync. Once stopped, the kubelet restarts it. Without the pod network, which Azure
# CNI makes at a node's first pod, it waits and has no health address (kubernetes/kubernetes, pkg/proxy/winkernel,
# getNetworkInfo).
function Repair-Proxy {
    param([object] $Machine, [hashtable] $Memory)
    $running = @(Get-Process -Name kube-proxy -ErrorAction SilentlyContinue)
    if ($running.Count -eq 0 -or -not (Get-HnsNetworkNamed $Machine.network.name)) {
        $Memory['kube-proxy'] = 0
    }
    elseif (Test-Sick $Machine $Memory 'kube-proxy' { Test-Health $Machine.watch.proxyHealth }) {
        Write-Notice 'kube-proxy does not answer; restarting it' 'Warning'
        $running | Stop-Process -Force
    }
}

# HNS that hangs. What its restart costs the pods, the repair of the pod network makes again.
function Repair-Hns {
    param([object] $Machine, [hashtable] $Memory)
    if (Test-Sick $Machine $Memory 'hns' { Invoke-Hns GET '/networks/' '' 10 }) {
        Write-Notice 'HNS does not answer; restarting it' 'Warning'
        Restart-Hns
    }
}

# The run that carries the machine to Ready: the scheduler starts it with Windows only. Not at once, since one that has
# just asked for a restart of Windows would count a second one.
function Repair-Run {
    param([object] $Machine, [hashtable] $Memory)
    if (Test-Sick $Machine $Memory 'run' { throw 'not settled' }) {
        $task = Get-ScheduledTask -TaskName 'fenestra-run' -ErrorAction Stop
        if ("$($task.State)" -ne 'Running') {
            Write-Notice 'the bootstrap has ended before the node was Ready; starting it' 'Warning'
            Start-ScheduledTask -TaskName 'fenestra-run' -ErrorAction Stop
        }
    }
}

# Programs keep their logs open for appending and do not rotate them (containerd/containerd#12888): copied and
# truncated. Where the disk has no room for the copy, truncated all the same.
function Limit-Log {
    param([string] $Path, [long] $Bytes)
    # Through its handle: the folder shows the size of an open file only once it is closed.
    $file = [IO.File]::Open($Path, 'Open', 'ReadWrite', 'ReadWrite')
    try {
        if ($file.Length -gt $Bytes) {
            try {
                Copy-Item -Force -LiteralPath $Path -Destination "$Path.1"
            }
            finally {
                $file.SetLength(0)
            }
        }
    }
    finally {
        $file.Close()
    }
}

# Each duty stands alone: one that fails is told once, until it works again, and stops no other.
function Invoke-Duties {
    param([hashtable] $Memory, [System.Collections.Specialized.OrderedDictionary] $Duties)
    foreach ($duty in @($Duties.Keys)) {
        try {
            & $Duties[$duty] | Out-Null
            $Memory.Remove("failed $duty")
        }
        catch {
            if (-not $Memory.ContainsKey("failed $duty")) {
                Write-Notice "watch of ${duty}: $_" 'Warning'
            }
            $Memory["failed $duty"] = "$_"
        }
    }
}

# Those that call HNS come last, since it may hang.
function Invoke-Repairs {
    param([object] $Machine, [string] $BootId, [hashtable] $Memory)
    Invoke-Duties $Memory ([ordered] @{
        services      = { Repair-Services }
        kubelet       = { Repair-Kubelet $Machine $Memory }
        'kube-proxy'  = { Repair-Proxy $Machine $Memory }
        HNS           = { Repair-Hns $Machine $Memory }
        'pod network' = { Repair-PodNetwork $Machine $BootId $Memory }
    })
}

# True once the stages of this boot are done, so that nothing is repaired while it is being built. What the user wants
# done on a Ready node may take as long as it likes.
function Test-Settled {
    param([object] $Machine, [string] $BootId)
    foreach ($stage in @($Machine.stages | Where-Object { $_.name -ne 'after' })) {
        if (-not (Test-StageDone $Machine $stage $BootId)) {
            return $false
        }
    }
    $true
}

function Invoke-Round {
    param([object] $Machine, [string] $BootId, [hashtable] $Memory)
    Invoke-Duties $Memory ([ordered] @{
        'health port' = { Set-HealthPort $Machine $Memory }
        # Always: stages and notices need them, and AWS's launch agent rewrites them at its start, in no fixed order
        # with flanneld.
        routes = {
            foreach ($prefix in @(Repair-Routes $Machine.network.routes)) {
                Write-Notice "route to $prefix was lost and is back" 'Warning'
            }
        }
        logs   = {
            foreach ($log in @(Get-ChildItem -File -LiteralPath $Machine.paths.logs -Filter '*.log')) {
                Limit-Log $log.FullName $Machine.watch.logBytes
            }
        }
    })
    # Under the lock of the run: what a stage stopped on purpose stays stopped.
    Invoke-Alone 'run' 0 {
        if (Test-Settled $Machine $BootId) {
            $Memory.run = 0
            Invoke-Repairs $Machine $BootId $Memory
        }
        else {
            Invoke-Duties $Memory ([ordered] @{ bootstrap = { Repair-Run $Machine $Memory } })
        }
    } | Out-Null
    Invoke-Duties $Memory ([ordered] @{ report = { Send-Failed $Machine $Memory } })
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'health'
Initialize-Web
$memory = @{ lost = 0 }
$boot = Get-BootId
while ($true) {
    try {
        Invoke-Round $machine $boot $memory
    }
    catch {
        Write-Log "health: $_"
    }
    Start-Sleep -Seconds $machine.watch.healthSeconds
}
