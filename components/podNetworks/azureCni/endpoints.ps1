# Repairs the pod network after a restart of HNS, which destroys the endpoints of running pods: the machine restarts.

# The plug-in's state still names the endpoints and networks that HNS has lost, and it cannot be told
# (Azure/azure-container-networking: rehydration is off). A boot clears both. HNS is known by its process, as AKS knows
# it (Azure/AgentBaker, hnsremediator.ps1).
function Repair-PodNetwork {
    param([object] $Machine, [string] $BootId, [hashtable] $Memory)
    if (-not $Memory.calm) {
        $Memory.calm = New-Deadline 600
    }
    $service = Get-CimInstance Win32_Service -Filter "Name='hns'"
    $Memory.lost = 0
    # Before the entry of kube-proxy's pod has made the first network there is nothing to lose.
    if (-not $service.ProcessId -or -not (Test-Path -LiteralPath $Machine.network.conflist)) {
        return
    }
    $file = "$($Machine.paths.state)/network"
    $mark = "$BootId $($service.ProcessId)"
    $before = Read-Text $file
    if ($before -eq $mark) {
        return
    }
    if ($before.StartsWith("$BootId ")) {
        # At most one restart in ten minutes and three a day, also where HNS does not last; one that was refused is
        # asked for again. Then the node stays drained, and says so.
        if ((Get-Left $Memory.calm) -gt 0) {
            return
        }
        $Memory.calm = New-Deadline 600
        $today = [DateTime]::UtcNow.ToString('yyyy-MM-dd')
        $restarts = @(@((Read-Text "$file-restarts") -split "`n") -eq $today)
        Write-Notice 'HNS has lost the endpoints of the pods; the machine is drained and restarts' 'Warning'
        try {
            Write-Text "$file-restarts" (($restarts + $today) -join "`n")
            & "$PSScriptRoot/drain.ps1" -Seconds $Machine.drain.spotSeconds
        }
        finally {
            if ($restarts.Count -ge 3) {
                throw 'HNS has lost the endpoints of the pods again after three restarts of the machine today'
            }
            Restart-Computer -Force
        }
        return
    }
    Write-Text $file $mark
}
