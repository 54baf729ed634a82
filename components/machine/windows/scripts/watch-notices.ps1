# Polls the cloud for a notice, then drains the node. A separate task, so that nothing that hangs delays it.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/identity.ps1"
. "$PSScriptRoot/notice.ps1"

# One round. True when the cloud terminates the machine and it has been drained. An interruption is drained for once,
# and when the cloud says nothing of it any more pods may come again; at the first look too, which is perhaps behind the
# restart that it was about.
function Invoke-Round {
    param($Machine, [hashtable] $Memory)
    $silent = @{}
    $looked = New-Deadline 0
    $termination = Get-Termination $Machine $silent
    $joined = Test-Joined $Machine
    if ($null -eq $termination) {
        if ($joined -and -not $silent.silent -and -not $Memory.settled) {
            & "$PSScriptRoot/drain.ps1" -Seconds 0
            $Memory.settled = $true
            $Memory.interrupted = $false
        }
        return $false
    }
    $Memory.settled = $false
    $returns = [bool] $termination.returns
    if ($returns -and $Memory.interrupted) {
        return $false
    }
    $Memory.interrupted = $returns
    # A drain that could not begin is tried again while there is time. The cloud is told in any case.
    $looked.seconds = $termination.seconds
    for ($least = 5; $joined; $least = 0) {
        $left = [Math]::Max($least, (Get-Left $looked))
        if ($left -le 0) {
            break
        }
        try {
            & "$PSScriptRoot/drain.ps1" -Seconds ([Math]::Ceiling($left)) -Hook $termination.hook -Returns:$returns -Leaves:(-not $returns)
            break
        }
        catch {
            Write-Log "drain: $_"
            Start-Sleep -Seconds $Machine.watch.noticeSeconds
        }
    }
    Complete-Termination $Machine $termination
    -not $returns
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'notices'
Initialize-Web
$memory = @{}
while ($true) {
    $pause = $machine.watch.noticeSeconds
    try {
        if (Invoke-Round $machine $memory) {
            Write-Notice 'the cloud may take this machine now'
            # A notice that still stands then begins anew; one that is gone gives the machine back.
            $pause = 900
        }
    }
    catch {
        Write-Log "notices: $_"
    }
    Start-Sleep -Seconds $pause
}
