# Watches the machine: routes from the start, and once it is Ready services, kubelet, kube-proxy, logs and the pod network. Repairs what fails,
# and writes an event each time.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/endpoints.ps1"

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

# True when a program has not responded for some rounds. The count then starts over.
function Test-Sick {
    param(
        [object] $Machine,
        [hashtable] $Memory,
        [string] $Name,
        [string] $Uri
    )
    try {
        Invoke-RestMethod -UseBasicParsing -TimeoutSec 10 -Uri $Uri | Out-Null
        $Memory[$Name] = 0
    }
    catch {
        $Memory[$Name] += 1
    }
    if ($Memory[$Name] -lt $Machine.watch.sickRounds) {
        return $false
    }
    $Memory[$Name] = 0
    $true
}

# A kubelet that runs but no longer responds.
function Repair-Kubelet {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    if (Test-Sick $Machine $Memory 'kubelet' $Machine.watch.kubeletHealth) {
        Write-Notice 'the kubelet does not answer; restarting it' 'Warning'
        Stop-Service -Force -Name kubelet
        # A hung one outlives its service, and would keep the ports from the next.
        Get-Process -Name kubelet -ErrorAction SilentlyContinue | Stop-Process -Force -ErrorAction SilentlyContinue
        Start-NodeService kubelet
    }
}

# A kube-proxy that runs but does not sync. Once stopped, the kubelet restarts it.
function Repair-Proxy {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    $running = @(Get-Process -Name kube-proxy -ErrorAction SilentlyContinue)
    if ($running.Count -gt 0 -and (Test-Sick $Machine $Memory 'kube-proxy' $Machine.watch.proxyHealth)) {
        Write-Notice 'kube-proxy does not answer; restarting it' 'Warning'
        $running | Stop-Process -Force
    }
}

# containerd (containerd/containerd#12888) and kube-log-runner keep their logs open for appending and do not rotate them: copied and truncated.
function Limit-Log {
    param(
        [string] $Path,
        [long] $Bytes
    )
    if (-not (Test-Path -LiteralPath $Path)) {
        return
    }
    # Through its handle: the folder shows the size of an open file only once it is closed.
    $file = [IO.File]::Open($Path, 'Open', 'ReadWrite', 'ReadWrite')
    try {
        if ($file.Length -gt $Bytes) {
            Copy-Item -Force -LiteralPath $Path -Destination "$Path.1"
            $file.SetLength(0)
        }
    }
    finally {
        $file.Close()
    }
}

# A failing check does not stop the others. Those that call HNS come last, since it may hang.
function Invoke-Repairs {
    param(
        [object] $Machine,
        [string] $BootId,
        [hashtable] $Memory
    )
    $repairs = @(
        { Repair-Services }
        { Repair-Kubelet $Machine $Memory }
        { Repair-Proxy $Machine $Memory }
        { Limit-Log $Machine.watch.logs.containerd $Machine.watch.logs.bytes }
        { Limit-Log $Machine.watch.logs.kubelet $Machine.watch.logs.bytes }
        { Repair-PodNetwork $Machine $BootId $Memory }
    )
    foreach ($repair in $repairs) {
        try {
            & $repair
        }
        catch {
            Write-Log "repair: $_"
        }
    }
}

# True once the stages of this boot are done, so that nothing is repaired while it is being built.
function Test-Settled {
    param(
        [object] $Machine,
        [string] $BootId
    )
    foreach ($stage in $Machine.stages) {
        if (-not (Test-StageDone $Machine $stage $BootId)) {
            return $false
        }
    }
    $true
}

function Invoke-Round {
    param(
        [object] $Machine,
        [string] $BootId,
        [hashtable] $Memory
    )
    # Always: stages and notices need them, and AWS's launch agent rewrites them at its start, in no fixed order with flanneld.
    foreach ($prefix in @(Repair-Routes $Machine.network.routes)) {
        Write-Notice "route to $prefix was lost and is back" 'Warning'
    }
    # Under the lock of the run: what a stage stopped on purpose stays stopped.
    Invoke-Alone 'run' 0 {
        if (Test-Settled $Machine $BootId) {
            Invoke-Repairs $Machine $BootId $Memory
        }
    } | Out-Null
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'health'
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
