# The pods' network after a restart of HNS, which takes flanneld's network, the endpoints of running pods and all load balancers with it.

# HNS by its process and flanneld's network by its id. Another one of either means that the endpoints are gone (projectcalico/calico#5164); AKS
# looks at the process too (Azure/AgentBaker, staging/cse/windows/provisioningscripts/hnsremediator.ps1).
function Get-NetworkMark {
    param(
        [object] $Network,
        [string] $BootId
    )
    $service = Get-CimInstance Win32_Service -Filter "Name='hns'"
    "$BootId $($service.ProcessId) $($Network.ID)"
}

# Ids of the sandboxes that have an address in the pods' network. HostProcess pods have none (containerd, internal/cri/server/sandbox_status.go),
# and neither has one whose namespace is gone, which the kubelet replaces by itself (kubernetes/kubernetes, kuberuntime/util, PodSandboxChanged).
function Get-Sandboxes {
    param(
        [object] $Machine
    )
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

# Stops sandboxes. The kubelet makes them again, with new endpoints, and counts a restart of their containers. Gives those that did not stop.
function Stop-Sandboxes {
    param(
        [object] $Machine,
        [string[]] $Ids
    )
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

# kube-proxy knows load balancers that are no more, and what is left of them would stand in the way of new ones.
function Reset-Proxy {
    foreach ($item in @(Invoke-Hns GET '/policylists/' | Where-Object { $_.ID })) {
        Invoke-Hns DELETE "/policylists/$($item.ID)" | Out-Null
    }
    Get-Process -Name kube-proxy -ErrorAction SilentlyContinue | Stop-Process -Force
}

# flanneld does not notice that its network is gone; ended, it is started again by the kubelet and makes it again. Then pods get new endpoints.
function Repair-PodNetwork {
    param(
        [object] $Machine,
        [string] $BootId,
        [hashtable] $Memory
    )
    $network = Get-HnsNetworkNamed $Machine.network.name
    if (-not $network) {
        $flanneld = @(Get-Process -Name flanneld -ErrorAction SilentlyContinue)
        # One that has just started has not made it yet.
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
    $before = ''
    if (Test-Path -LiteralPath $file) {
        $before = [IO.File]::ReadAllText($file)
    }
    if ($before -eq $mark) {
        return
    }
    # Of another boot there is nothing left to repair.
    if ($before.StartsWith("$BootId ")) {
        Write-Notice 'HNS has lost the endpoints of the pods; they are made again' 'Warning'
        Reset-Proxy
        $Memory.stale = @(Stop-Sandboxes $Machine @(Get-Sandboxes $Machine))
    }
    # Last, so that what was cut off is repeated.
    Write-Text $file $mark
}
