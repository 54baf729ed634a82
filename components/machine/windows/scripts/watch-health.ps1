# Looks after the machine: routes from the start, and once it is Ready services, kubelet, kube-proxy, logs and the pods' network. Puts right what
# went wrong, and writes an event each time.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/endpoints.ps1"

# A service that stopped. Its own recovery actions do not cover one that was stopped in order.
function Repair-Services {
    foreach ($name in 'containerd', 'kubelet') {
        $service = Get-Service -Name $name -ErrorAction SilentlyContinue
        if ($service -and $service.Status -eq 'Stopped') {
            Write-Notice "service $name is stopped; starting it" 'Warning'
            Start-NodeService $name
        }
    }
    # One that the service manager started again has the priority of any program.
    Set-Priority containerd
}

# True when a program has given no answer for some rounds. The count begins again then.
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

# A kubelet that runs but no longer answers.
function Repair-Kubelet {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    if (Test-Sick $Machine $Memory 'kubelet' $Machine.watch.kubeletHealth) {
        Write-Notice 'the kubelet does not answer; restarting it' 'Warning'
        Stop-Service -Force -Name kubelet
        # One that hangs outlives its service, and would keep the ports from the next.
        Get-Process -Name kubelet -ErrorAction SilentlyContinue | Stop-Process -Force -ErrorAction SilentlyContinue
        Start-NodeService kubelet
    }
}

# A kube-proxy that runs but does not get its work done. Ended, it is started again by the kubelet.
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

# containerd does not rotate its log (containerd/containerd#12888) and does not let go of it, but appends: the file is copied and emptied.
function Limit-Log {
    param(
        [string] $Path,
        [long] $Bytes
    )
    if (-not (Test-Path -LiteralPath $Path)) {
        return
    }
    # By its handle: the folder learns the size of a file that is open only when it is closed.
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

# One that fails keeps no other from its turn. What asks HNS comes last, since it may hang.
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
        { Limit-Log $Machine.watch.containerdLog.path $Machine.watch.containerdLog.bytes }
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

# True once the stages of this boot are through, so that nothing is repaired while it is being built.
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
    # Always: stages and notices need them, and the launch agent of AWS rewrites them at its start, in no fixed order with flanneld.
    foreach ($prefix in @(Repair-Routes $Machine.network.routes)) {
        Write-Notice "route to $prefix was lost and is back" 'Warning'
    }
    # Under the lock of the run: what a stage has stopped on purpose stays so.
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
