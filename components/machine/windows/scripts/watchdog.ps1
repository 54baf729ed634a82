# Watches what goes wrong after Ready, mends it, and writes an event each time; drains the node when the cloud takes it away.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/identity.ps1"
. "$PSScriptRoot/notice.ps1"

# A service that stopped. Its own recovery actions do not cover one that was stopped in order.
function Repair-Services {
    foreach ($name in 'containerd', 'kubelet') {
        $service = Get-Service -Name $name -ErrorAction SilentlyContinue
        if ($service -and $service.Status -eq 'Stopped') {
            Write-Notice "service $name is stopped; starting it" 'Warning'
            Start-NodeService $name
        }
    }
}

# A restart of HNS takes flanneld's network with it. flanneld does not notice; ended, it is started again by the kubelet and makes it anew.
function Repair-PodNetwork {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    $flanneld = @(Get-Process -Name flanneld -ErrorAction SilentlyContinue)
    if ($flanneld.Count -eq 0 -or (Get-HnsNetworkNamed $Machine.network.name)) {
        $Memory.lost = 0
        return
    }
    # flanneld that has just started has not made it yet.
    $Memory.lost += 1
    if ($Memory.lost -ge $Machine.watch.lostRounds) {
        Write-Notice "HNS network $($Machine.network.name) is gone; restarting flanneld" 'Warning'
        $flanneld | Stop-Process -Force
        $Memory.lost = 0
    }
}

# A kubelet that runs but no longer answers.
function Repair-Kubelet {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    try {
        Invoke-RestMethod -UseBasicParsing -TimeoutSec 10 -Uri $Machine.watch.kubeletHealth | Out-Null
        $Memory.sick = 0
    }
    catch {
        $Memory.sick += 1
    }
    if ($Memory.sick -ge $Machine.watch.sickRounds) {
        Write-Notice 'the kubelet does not answer; restarting it' 'Warning'
        Stop-Service -Force -Name kubelet
        # One that hangs outlives its service, and would keep the ports from the next.
        Get-Process -Name kubelet -ErrorAction SilentlyContinue | Stop-Process -Force -ErrorAction SilentlyContinue
        Start-NodeService kubelet
        $Memory.sick = 0
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

function Invoke-Repairs {
    param(
        [object] $Machine,
        [hashtable] $Memory
    )
    foreach ($prefix in @(Repair-Routes $Machine.network.routes)) {
        Write-Notice "route to $prefix was lost and is back" 'Warning'
    }
    Repair-Services
    Repair-PodNetwork $Machine $Memory
    Repair-Kubelet $Machine $Memory
    Limit-Log $Machine.watch.containerdLog.path $Machine.watch.containerdLog.bytes
}

# True once the stages of this boot are through, so that nothing is mended while it is being built.
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

# One round. True when the cloud takes the machine away and it has been drained.
function Invoke-Round {
    param(
        [object] $Machine,
        [string] $BootId,
        [hashtable] $Memory
    )
    $Memory.round += 1
    if ($Memory.round % $Machine.watch.repairEvery -eq 0) {
        # A repair that fails must not hide that the cloud is about to take the machine.
        try {
            # Under the lock of the run: what a stage has stopped on purpose stays so.
            Invoke-Alone 'run' 0 {
                if (Test-Settled $Machine $BootId) {
                    Invoke-Repairs $Machine $Memory
                }
            } | Out-Null
        }
        catch {
            Write-Log "repair: $_"
        }
    }
    $termination = Get-Termination $Machine
    if ($null -eq $termination) {
        return $false
    }
    if (Test-Path -LiteralPath $Machine.paths.kubeconfig) {
        & "$PSScriptRoot/drain.ps1" -Seconds $termination.seconds -Hook $termination.hook
    }
    Complete-Termination $Machine $termination
    $true
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'watchdog'
Initialize-Web
$memory = @{ round = 0; lost = 0; sick = 0 }
$boot = Get-BootId
while ($true) {
    try {
        if (Invoke-Round $machine $boot $memory) {
            Write-Notice 'the cloud may take this machine now'
            break
        }
    }
    catch {
        Write-Log "watchdog: $_"
        # A lost route is often why; with it, questions take minutes to fail, so the next round mends first.
        $memory.round = -1
    }
    Start-Sleep -Seconds $machine.watch.pauseSeconds
}
exit 0
