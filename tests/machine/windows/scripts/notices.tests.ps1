# The task that asks the cloud: drains once, tells the cloud, and needs nothing of HNS.
. "$PSScriptRoot/harness.ps1"
foreach ($name in 'files.ps1', 'lib.ps1', 'web.ps1', 'identity.ps1', 'sigv4.ps1', 'notice.ps1', 'watch-notices.ps1') {
    Copy-Item -LiteralPath "$scripts/$name" -Destination $temp
}
Set-Content -Path "$temp/drain.ps1" -Value @(
    'param($Seconds, $Hook, [switch] $Returns, [switch] $Leaves)'
    '$fakeCloud.calls += "drain $Seconds $Hook"'
    'if ($Seconds -and $Leaves -eq $Returns) { throw "a machine leaves or returns" }'
    'if ($fakeCloud.fail -gt 0) { $fakeCloud.fail -= 1; throw "made to fail" }'
    'exit 0'
)
. "$temp/watch-notices.ps1"

$fakeCloud = @{ time = 0; calls = @(); termination = $null; silent = $false }
. "$PSScriptRoot/log-fake.ps1"
function Get-Termination {
    param($Machine, $Silent)
    $Silent.silent = $fakeCloud.silent
    $fakeCloud.termination
}
function Complete-Termination {
    param($Machine, $Termination)
    $fakeCloud.calls += "complete $($Termination.finish)"
}
# Time passes in pauses alone.
function Start-Sleep { $fakeCloud.time += 100 }
function New-Deadline { @{ begun = $fakeCloud.time } }
function Get-Left { [Math]::Max(0, $args[0].seconds + $args[0].begun - $fakeCloud.time) }
$machine = ConvertTo-Data @{ watch = @{ noticeSeconds = 5 }; paths = @{ kubeconfig = "$temp/kubelet.conf" }; programs = @{ kubectl = "$temp/kubectl.exe" } }

Test 'nothing is done while the machine may stay' {
    Assert-False (Invoke-Round $machine @{ settled = $true })
    Assert-Equal $fakeCloud.calls @()
}
Test 'a machine that joined is drained before the cloud is told; one that never did, or has no kubectl yet, is not' {
    $fakeCloud.termination = @{ seconds = 600; finish = 'lifecycle'; hook = 'drain' }
    foreach ($case in @{ file = ''; calls = @() }, @{ file = $machine.paths.kubeconfig; calls = @() }, @{ file = $machine.programs.kubectl; calls = @('drain 600 drain') }) {
        $fakeCloud.calls = @()
        if ($case.file) { Write-Text $case.file 'joined' }
        Assert-True (Invoke-Round $machine @{ settled = $true })
        Assert-Equal $fakeCloud.calls ($case.calls + 'complete lifecycle')
    }
}
Test 'a drain that cannot begin is tried again while there is time, and the cloud is told behind it' {
    foreach ($case in @{ fail = 2; drains = 600, 500, 400 }, @{ fail = 99; drains = 600, 500, 400, 300, 200, 100 }) {
        $fakeCloud.calls = @()
        $fakeCloud.fail = $case.fail
        Assert-True (Invoke-Round $machine @{ settled = $true })
        Assert-Equal $fakeCloud.calls (@($case.drains | ForEach-Object { "drain $_ drain" }) + 'complete lifecycle')
    }
}
$fakeLooks = @{ returns = @{ seconds = 60; finish = 'none'; hook = ''; returns = $true }; leaves = @{ seconds = 9; finish = 'event'; hook = '' } }
foreach ($case in Read-Table @'
title|looks[]|calls
an interruption is drained for once, and pods may come when it is over|returns, returns, nothing, nothing|drain 60 ;complete none;drain 0 
where nobody says whether it is over, nothing is taken back|returns, silent, silent|drain 60 ;complete none
behind a restart pods may come|silent, nothing, nothing|drain 0 
what was to return leaves after all|returns, leaves|drain 60 ;complete none;drain 9 ;complete event
'@) {
    Test $case.title {
        $fakeCloud.calls = @()
        $fakeCloud.fail = 0
        $fakeMemory = @{}
        foreach ($look in $case.looks) {
            $fakeCloud.silent = $look -eq 'silent'
            $fakeCloud.termination = $fakeLooks[$look]
            Invoke-Round $machine $fakeMemory
        }
        Assert-Equal ($fakeCloud.calls -join ';') $case.calls
    }
}
Complete-Tests
