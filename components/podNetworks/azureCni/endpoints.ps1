# Repairs the pod network after a restart of HNS, which destroys the endpoints of running pods: the machine restarts.

# The plug-in's state still names the endpoints and networks that HNS has lost, and it cannot be told
# (Azure/azure-container-networking: rehydration is off). A boot clears both. HNS is known by its process, as AKS knows
# it (Azure/AgentBaker, hnsremediator.ps1).
function Repair-PodNetwork {
    param($Machine, [string] $BootId, [hashtable] $Memory)
    if (-not $Memory.calm) {
        $Memory.calm = New-Deadline 600
    }
    # Before the entry of kube-proxy's pod has made the first network there is nothing to lose.
    if (-not (Test-Path -LiteralPath $Machine.network.conflist)) {
        return
    }
    $file = "$($Machine.paths.state)/network"
    $mark = "$BootId $(Get-ServiceProcess hns)"
    if (-not $Memory.mark) {
        $Memory.mark = Read-Text $file
    }
    if ($Memory.mark -eq $mark) {
        return
    }
    if (-not $Memory.mark.StartsWith("$BootId ")) {
        $Memory.mark = $mark
        Write-Text $file $mark
        return
    }
    # At most one restart in ten minutes and three a day, also where HNS does not last; one that was refused is asked
    # for again. Then the node stays drained, and says so.
    if ((Get-Left $Memory.calm) -gt 0) {
        return
    }
    $Memory.calm = New-Deadline 600
    $today = ('{0:o}' -f [DateTime]::UtcNow).Substring(0, 10)
    # Each by the boot that wanted it. Before anything is done: restarts that nobody counts have no end.
    $restarts = @((Read-Text "$file-restarts") -split "`n" -like "$today *" -ne "$today $BootId")
    Write-Text "$file-restarts" (($restarts + "$today $BootId") -join "`n")
    Write-Notice 'HNS has lost the endpoints of the pods; the machine is drained and restarts' 'Warning'
    try {
        & "$PSScriptRoot/drain.ps1" -Seconds $Machine.drain.spotSeconds
    }
    catch {
        Write-Log "drain: $_"
    }
    if ($restarts.Count -ge 3) {
        throw 'HNS has lost the endpoints of the pods again after three restarts of the machine today'
    }
    Restart-Machine
}
