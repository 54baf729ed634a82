# The task that asks the cloud: drains once, tells the cloud, and needs nothing of HNS.
. "$PSScriptRoot/fakes.ps1"
Set-Content -Path "$scripts/drain.ps1" -Value @(
    'param($Seconds, $Hook, [switch] $Returns, [switch] $Leaves)'
    'Add-Deed "drain $Seconds $Hook"'
    'if ($Seconds -and $Leaves -eq $Returns) { throw "a machine leaves or returns" }'
    'if ($fakePc.fail -gt 0) { $fakePc.fail -= 1; throw "made to fail" }'
    'exit 0'
)
. "$scripts/watch-notices.ps1"

function Get-Termination {
    param($Machine, $Silent)
    $Silent.silent = $fakePc.silent
    $fakePc.termination
}
function Complete-Termination {
    param($Machine, $Termination)
    Add-Deed "complete $($Termination.finish)"
}
$machine = New-Data 'watch.noticeSeconds 100'

Test 'only a machine that joined and has kubectl is drained before the cloud is told' {
    $fakePc.termination = @{ seconds = 600; finish = 'lifecycle'; hook = 'drain' }
    foreach ($case in @{ file = ''; calls = @() }, @{ file = $machine.paths.kubeconfig; calls = @() }, @{ file = $machine.programs.kubectl; calls = @('drain 600 drain') }) {
        $fakePc.deeds = @()
        if ($case.file) { Write-Text $case.file 'joined' }
        Assert-True (Invoke-Round $machine @{ settled = $true })
        Assert-Equal $fakePc.deeds ($case.calls + 'complete lifecycle')
    }
}
Test 'a drain that cannot begin is tried while there is time, then the cloud is told' {
    foreach ($case in @{ fail = 2; drains = 600, 500, 400 }, @{ fail = 99; drains = 600, 500, 400, 300, 200, 100 }) {
        $fakePc.deeds = @()
        $fakePc.fail = $case.fail
        Assert-True (Invoke-Round $machine @{ settled = $true })
        Assert-Equal $fakePc.deeds (@($case.drains | ForEach-Object { "drain $_ drain" }) + 'complete lifecycle')
    }
}
$fakeLooks = @{ returns = @{ seconds = 60; finish = 'none'; hook = ''; returns = $true }; leaves = @{ seconds = 9; finish = 'event'; hook = '' } }
foreach ($case in Read-Table @'
title|looks[]|calls
an interruption is drained for once, until it is over|returns, returns, nothing, nothing|drain 60 ;complete none;drain 0 
nothing is taken back while nobody says so|returns, silent, silent|drain 60 ;complete none
behind a restart pods may come|silent, nothing, nothing|drain 0 
what was to return leaves after all|returns, leaves|drain 60 ;complete none;drain 9 ;complete event
'@) {
    Test $case.title {
        $fakePc.deeds = @()
        $fakePc.fail = 0
        $fakeMemory = @{}
        foreach ($look in $case.looks) {
            $fakePc.silent = $look -eq 'silent'
            $fakePc.termination = $fakeLooks[$look]
            Invoke-Round $machine $fakeMemory
        }
        Assert-Equal ($fakePc.deeds -join ';') $case.calls
    }
}
Complete-Tests
