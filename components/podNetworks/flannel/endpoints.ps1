# Repairs the pod network after a restart of HNS, which destroys flanneld's network, the endpoints of running pods and
# all load balancers.

# Identifies HNS by its process and flanneld's network by its id. A change of either means that the endpoints are gone
# (projectcalico/calico#5164); AKS checks the process too (Azure/AgentBaker,
# staging/cse/windows/provisioningscripts/hnsremediator.ps1).
function Get-NetworkMark {
    param([object] $Network, [string] $BootId)
    $service = Get-CimInstance Win32_Service -Filter "Name='hns'"
    "$BootId $($service.ProcessId) $($Network.ID)"
}

# Ids of the sandboxes with an address in the pod network. HostProcess pods have none (containerd,
# internal/cri/server/sandbox_status.go), nor do those whose namespace is gone, which the kubelet replaces itself
# (kubernetes/kubernetes, kuberuntime/util, PodSandboxChanged).
function Get-Sandboxes {
    param([object] $Machine)
    $crictl = '--runtime-endpoint', $Machine.kubeletEndpoint
    foreach ($id in @(Invoke-Program $Machine.programs.crictl ($crictl + @('pods', '--state', 'Ready', '--quiet')))) {
        try {
            $address = Invoke-Program $Machine.programs.crictl ($crictl + @('inspectp', '--output', 'go-template', '--template', '{{.status.network.ip}}', $id))
            if ("$address".Trim()) {
                $id
            }
        }
        catch {
            Write-Log "sandbox ${id}: $_"
        }
    }
}

# Stops sandboxes. The kubelet recreates them with new endpoints and counts a restart of their containers. Returns those
# that did not stop.
function Stop-Sandboxes {
    param([object] $Machine, [string[]] $Ids)
    foreach ($id in $Ids) {
        try {
            Invoke-Program $Machine.programs.crictl @('--runtime-endpoint', $Machine.kubeletEndpoint, 'stopp', $id) | Out-Null
        }
        catch {
            Write-Log "sandbox $id does not stop: $_"
            $id
        }
    }
}

# kube-proxy still caches load balancers that no longer exist, and leftovers would conflict with new ones.
function Reset-Proxy {
    foreach ($item in @(Invoke-Hns GET '/policylists/' | Where-Object { $_.ID })) {
        Invoke-Hns DELETE "/policylists/$($item.ID)" | Out-Null
    }
    Get-Process -Name kube-proxy -ErrorAction SilentlyContinue | Stop-Process -Force
}

# flanneld does not notice that its network is gone; once stopped, the kubelet restarts it and it recreates the network.
# Then pods get new endpoints.
function Repair-PodNetwork {
    param([object] $Machine, [string] $BootId, [hashtable] $Memory)
    $network = Get-HnsNetworkNamed $Machine.network.name
    if (-not $network) {
        $flanneld = @(Get-Process -Name flanneld -ErrorAction SilentlyContinue)
        # A flanneld that has just started has not created it yet.
        $Memory.lost += 1
        if ($flanneld.Count -eq 0) {
            $Memory.lost = 0
        }
        if ($Memory.lost -ge $Machine.watch.lostRounds) {
            Write-Notice "HNS network $($Machine.network.name) is gone; restarting flanneld" 'Warning'
            $flanneld | Stop-Process -Force
            $Memory.lost = 0
        }
        return
    }
    $Memory.lost = 0
    $Memory.stale = @(Stop-Sandboxes $Machine @($Memory.stale | Where-Object { $_ }))
    $file = "$($Machine.paths.state)/network"
    $mark = Get-NetworkMark $network $BootId
    $before = Read-Text $file
    if ($before -eq $mark) {
        return
    }
    # After a reboot there is nothing left to repair.
    if ($before.StartsWith("$BootId ")) {
        Write-Notice 'HNS has lost the endpoints of the pods; they are made again' 'Warning'
        Reset-Proxy
        $Memory.stale = @(Stop-Sandboxes $Machine @(Get-Sandboxes $Machine))
    }
    # Last, so that an interrupted repair is repeated.
    Write-Text $file $mark
}
