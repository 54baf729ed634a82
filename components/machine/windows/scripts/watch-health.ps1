# Watches the machine: routes and logs from the start, and once it is Ready services, kubelet, kube-proxy and the pod
# network. Repairs what fails, and writes an event each time. A round that hangs ends the process: the scheduler starts
# the next one only when this one is gone.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/state.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
. "$PSScriptRoot/endpoints.ps1"

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
    param($Machine, [hashtable] $Memory)
    if (Test-Sick $Memory 'kubelet' $Machine.watch.sickRounds { Test-Health $Machine.watch.kubeletHealth }) {
        Write-Notice 'the kubelet does not answer; restarting it' 'Warning'
        Restart-NodeService kubelet
    }
}

# A containerd that runs but no longer responds: then the node is not Ready, whatever the kubelet's own address says.
function Repair-Containerd {
    param($Machine, [hashtable] $Memory)
    # One that the service manager restarted has normal priority.
    Set-Priority containerd
    $check = {
        if (-not $Memory.isReady -and -not (Invoke-Crictl $Machine @('info') 10)) {
            throw 'no answer'
        }
    }
    if (Test-Sick $Memory 'containerd' $Machine.watch.sickRounds $check) {
        Write-Notice 'containerd does not answer; restarting it' 'Warning'
        Restart-NodeService containerd
    }
}

# A kube-proxy that runs but does not sync. Once stopped, the kubelet restarts it. Without the pod network, which Azure
# CNI makes at a node's first pod, it waits and has no health address (kubernetes/kubernetes, pkg/proxy/winkernel,
# getNetworkInfo).
function Repair-Proxy {
    param($Machine, [hashtable] $Memory)
    $running = @(Get-Process -Name kube-proxy -ErrorAction SilentlyContinue)
    if ($running.Count -eq 0 -or -not (Get-HnsNetworkNamed $Machine.network.name)) {
        $Memory['kube-proxy'] = 0
    }
    elseif (Test-Sick $Memory 'kube-proxy' $Machine.watch.sickRounds { Test-Health $Machine.watch.proxyHealth }) {
        Write-Notice 'kube-proxy does not answer; restarting it' 'Warning'
        $running | Stop-Process -Force
    }
}

# The plug-ins' configuration that is gone or torn: containerd refuses every pod, and the node is not Ready (containerd:
# internal/cri/server/cni_conf_syncer.go). The pod that has made their network writes it once.
function Repair-Conflist {
    param($Machine, [hashtable] $Memory)
    $network = $Machine.network
    $gone = -not (Read-Data $network.conflist) -and @(Get-HnsList 'networks' | Where-Object { $_.Name -ne 'nat' }).Count -gt 0
    if (Test-Sick $Memory 'conflist' $Machine.watch.lostRounds { if ($gone) { throw 'gone' } }) {
        Write-Notice "$($network.conflist) is gone or torn; it is written again" 'Warning'
        Write-Text $network.conflist (Read-Text $network.conflistTemplate -Needed)
    }
}

# HNS that hangs. What its restart costs the pods, the repair of the pod network makes again.
function Repair-Hns {
    param($Machine, [hashtable] $Memory)
    # Needs room on the disk, at the first call.
    Initialize-Hns
    if (Test-Sick $Memory 'hns' $Machine.watch.sickRounds { Invoke-Hns GET '/networks/' '' 10 }) {
        Write-Notice 'HNS does not answer; restarting it' 'Warning'
        Restart-NodeService hns
    }
}

# The run of the stages: the scheduler starts it with Windows only. Well before repairs start what a stage would start.
function Repair-Run {
    param($Machine, [hashtable] $Memory)
    if (@($Memory.due).Count -eq 0) {
        $Memory.run = 0
        return
    }
    $state = "$((Invoke-Wmi { Get-ScheduledTask -TaskName 'fenestra-run' -CimSession $wmi -ErrorAction Stop }).State)"
    if ('Ready', 'Queued', 'Running' -notcontains $state) {
        throw "the task fenestra-run is '$state'"
    }
    if (Test-Sick $Memory 'run' ($Machine.watch.sickRounds / 2) { if ($state -eq 'Ready') { throw $state } }) {
        Write-Notice "the bootstrap has ended before its stages $($Memory.due -join ', '); starting it" 'Warning'
        Invoke-Wmi { Start-ScheduledTask -TaskName 'fenestra-run' -CimSession $wmi -ErrorAction Stop }
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
        $Memory.duty = $duty
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

# Those that call HNS come last, since it may hang. Before this boot's network is made there is none to repair.
function Invoke-Repairs {
    param($Machine, [string] $BootId, [hashtable] $Memory)
    Invoke-Duties $Memory ([ordered] @{
        'service hns'        = { Repair-Service $Machine $Memory 'hns' }
        'service containerd' = { Repair-Service $Machine $Memory 'containerd' }
        containerd           = { Repair-Containerd $Machine $Memory }
        'service kubelet'    = { Repair-Service $Machine $Memory 'kubelet' }
        kubelet              = { Repair-Kubelet $Machine $Memory }
        CNI                  = { if (-not $Memory.building) { Repair-Conflist $Machine $Memory } }
        'kube-proxy'         = { Repair-Proxy $Machine $Memory }
        HNS                  = { Repair-Hns $Machine $Memory }
        'pod network'        = { if (-not $Memory.building) { Repair-PodNetwork $Machine $BootId $Memory } }
    })
}

# What the table says of this moment: the state, what is still to be done, and whether that starts services.
function Set-State {
    param($Machine, [string] $BootId, [hashtable] $Memory)
    $Memory.state = Get-NodeState $Machine { $Memory.isReady }
    $Memory.due = @(Get-Due $Machine $BootId $Memory.state | ForEach-Object { $_.name })
    $Memory.building = @($Machine.stages | Where-Object { $Memory.due -contains $_.name -and -not (Get-Leave $_ 'up').runs }).Count -gt 0
}

function Invoke-Round {
    param($Machine, [string] $BootId, [hashtable] $Memory)
    $Memory.round = New-Deadline $Machine.watch.roundSeconds
    Invoke-Duties $Memory ([ordered] @{
        'health port' = { Set-HealthPort $Machine $Memory }
        # Always: stages and notices need them, and AWS's launch agent rewrites them at its start, in no fixed order
        # with flanneld.
        routes = {
            foreach ($prefix in @(Repair-Routes $Machine.network.routes)) {
                # In a first boot flanneld's own move of the adapter takes them away.
                if ($Memory.state -eq 'up') {
                    Write-Notice "route to $prefix was lost and is back" 'Warning'
                }
            }
        }
        logs   = {
            $held = @(foreach ($log in @(Get-ChildItem -File -LiteralPath $Machine.paths.logs -Filter '*.log')) {
                try {
                    Limit-Log $log.FullName $Machine.watch.logBytes
                }
                catch {
                    "$($log.Name): $_"
                }
            })
            if ($held.Count -gt 0) {
                throw "$held"
            }
        }
    })
    # Under the lock of the run: what a stage stopped on purpose stays stopped.
    Invoke-Alone 'run' 0 {
        Invoke-Duties $Memory ([ordered] @{ state = { Set-State $Machine $BootId $Memory } })
        if ($Memory.state -and $Memory.state -ne 'new') {
            Invoke-Repairs $Machine $BootId $Memory
        }
        Invoke-Duties $Memory ([ordered] @{ bootstrap = { Repair-Run $Machine $Memory } })
    } | Out-Null
    Invoke-Duties $Memory ([ordered] @{ report = { Send-Beat $Machine $Memory } })
}

# Ends this process, and says so, when a round takes longer than it may: some calls have no limit. The first of two
# threads tells, the second ends it where even that hangs. The next starts at once: with this one goes the health port.
function Start-Guard {
    param($Machine, [hashtable] $Memory)
    foreach ($wait in 0, 15) {
        $guard = [PowerShell]::Create().AddScript({
            param([string] $Files, $Machine, [hashtable] $Memory, [int] $Wait)
            . $Files
            Start-Log $Machine 'health'
            while ((Get-Left $Memory.round) -gt 0) {
                Start-Sleep -Seconds 1
            }
            Start-Sleep -Seconds $Wait
            if ($Wait -eq 0) {
                Write-Notice "watch of $($Memory.duty) hangs; it ends, and is started again" 'Error'
            }
            Start-Process -FilePath 'powershell.exe' -ArgumentList '-NoProfile -NonInteractive -Command "Start-Sleep 2; Start-ScheduledTask fenestra-health"'
            Stop-Process -Force -Id $PID
        })
        $guard.AddArgument("$PSScriptRoot/files.ps1").AddArgument($Machine).AddArgument($Memory).AddArgument($wait).BeginInvoke() | Out-Null
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'health'
Initialize-Web
$memory = @{ duty = 'the boot'; round = New-Deadline $machine.watch.roundSeconds; beat = New-Deadline 0 }
Start-Guard $machine $memory
$boot = Get-BootId
while ($true) {
    try {
        Invoke-Round $machine $boot $memory
    }
    catch {
        Write-Log "health: $_"
    }
    # The limit is a round's: the pause is none.
    $memory.round = New-Deadline $machine.watch.roundSeconds
    Start-Sleep -Seconds $machine.watch.healthSeconds
}
