# Repairs the pod network after a restart of HNS, which destroys flanneld's network, the endpoints of running pods and
# all load balancers.

# Identifies HNS by its process and flanneld's network by its id. A change of either means that the endpoints are gone
# (projectcalico/calico#5164); AKS checks the process too (Azure/AgentBaker,
# staging/cse/windows/provisioningscripts/hnsremediator.ps1).
function Get-NetworkMark {
    param($Network, [string] $BootId)
    "$BootId $(Get-ServiceProcess hns) $($Network.ID)"
}

# Ids of the sandboxes that run. One of them is flanneld's: none at all is no answer.
function Get-Sandboxes {
    param($Machine)
    $ids = @(Invoke-Crictl $Machine @('pods', '--state', 'Ready', '--quiet'))
    if ($ids.Count -eq 0 -or @($ids -notmatch '^\w+$').Count -gt 0) {
        throw "containerd's pods are '$ids'"
    }
    $ids
}

# Stops a sandbox with an address in the pod network. The kubelet recreates it with new endpoints and counts a restart
# of its containers. HostProcess pods have none (containerd, internal/cri/server/sandbox_status.go), nor do those whose
# namespace is gone, which the kubelet replaces itself (kubernetes/kubernetes, kuberuntime/util, PodSandboxChanged).
function Stop-Sandbox {
    param($Machine, [string] $Id)
    try {
        $words = @(-split "$(Invoke-Crictl $Machine @('inspectp', '--output', 'go-template', '--template', '{{.status.id}} {{.status.network.ip}}', $Id))")
    }
    catch {
        if ("$_" -match 'NotFound') {
            return
        }
        throw
    }
    if ($words[0] -ne $Id) {
        throw 'containerd does not say what it is'
    }
    if ($words.Count -gt 1) {
        Invoke-Crictl $Machine @('stopp', $Id) | Out-Null
    }
}

function Get-PolicyLists {
    , @(Get-HnsList 'policylists' | ForEach-Object { "policylists/$($_.ID)" })
}

# One part of the repair. kube-proxy still caches load balancers that no longer exist, and leftovers would conflict with
# new ones: they go before it does.
function Repair-Part {
    param($Machine, [string] $Part, [string[]] $Left, [string[]] $There)
    if ($Part -like 'policylists/*') {
        if ($There -contains $Part) {
            Invoke-Hns DELETE "/$Part" | Out-Null
        }
    }
    elseif ($Part -ne 'kube-proxy') {
        Stop-Sandbox $Machine $Part
    }
    elseif (@($Left -like 'policylists/*').Count -gt 0) {
        throw 'waits for its load balancers to go'
    }
    else {
        Get-Process -Name kube-proxy -ErrorAction SilentlyContinue | Stop-Process -Force
    }
}

# flanneld does not notice that its network is gone; once stopped, the kubelet restarts it and it recreates the network.
# Then pods get new endpoints.
function Repair-PodNetwork {
    param($Machine, [string] $BootId, [hashtable] $Memory)
    $network = Get-HnsNetworkNamed $Machine.network.name
    $flanneld = @(Get-Process -Name flanneld -ErrorAction SilentlyContinue)
    # A flanneld that has just started has not created it yet.
    if (-not $network -and $flanneld.Count -eq 0) {
        $Memory.flanneld = 0
    }
    elseif (Test-Sick $Memory 'flanneld' $Machine.watch.lostRounds { if (-not $network) { throw 'gone' } }) {
        Write-Notice "HNS network $($Machine.network.name) is gone; restarting flanneld" 'Warning'
        $flanneld | Stop-Process -Force
    }
    if (-not $network) {
        return
    }
    # The mark, and in lines below what is still to be done for it.
    $file = "$($Machine.paths.state)/network"
    $mark = Get-NetworkMark $network $BootId
    if (-not $Memory.lines) {
        $Memory.lines = @((Read-Text $file) -split "`n")
    }
    if ($Memory.lines[0] -ne $mark) {
        $lines = @($mark)
        # After a reboot there is nothing left to repair.
        if ($Memory.lines[0].StartsWith("$BootId ")) {
            $lines += (Get-PolicyLists) + 'kube-proxy' + @(Get-Sandboxes $Machine)
        }
        # Before anything is done: what cannot be written down would be done again in each round.
        Write-Text $file ($lines -join "`n")
        $Memory.lines = $lines
        if ($lines.Count -gt 1) {
            Write-Notice 'HNS has lost the endpoints of the pods; they are made again' 'Warning'
        }
    }
    $todo = @($Memory.lines | Select-Object -Skip 1)
    # Asked for once: there are hundreds, which HNS takes seconds to list.
    $there = $null
    foreach ($item in $todo) {
        # What this round has no time for is left to the next.
        if ((Get-Left $Memory.round) -lt $Machine.watch.roundSeconds / 3) {
            break
        }
        try {
            if ($null -eq $there -and $item -like 'policylists/*') {
                $there = Get-PolicyLists
            }
            Repair-Part $Machine $item $Memory.lines $there
            $Memory.lines = @($Memory.lines | Where-Object { $_ -ne $item })
        }
        catch {
            Write-Log "${item}: $_"
        }
    }
    if ($Memory.lines.Count -lt $todo.Count + 1) {
        Write-Text $file ($Memory.lines -join "`n")
    }
    if ($Memory.lines.Count -gt 1) {
        throw "$($Memory.lines.Count - 1) parts of the pod network are still to be made again"
    }
}
