# The task that asks the cloud: drains once, tells the cloud, and needs nothing of HNS.
. "$PSScriptRoot/harness.ps1"
foreach ($name in 'files.ps1', 'lib.ps1', 'web.ps1', 'identity.ps1', 'sigv4.ps1', 'notice.ps1', 'watch-notices.ps1') {
    Copy-Item -LiteralPath "$scripts/$name" -Destination $temp
}
Set-Content -Path "$temp/drain.ps1" -Value @(
    'param([int] $Seconds, [string] $Hook)'
    '$fakeCloud.calls += "drain $Seconds $Hook"'
    'if ($fakeCloud.fail) { throw "made to fail" }'
    'exit 0'
)
. "$temp/watch-notices.ps1"

$fakeCloud = @{ calls = @(); termination = $null }
. "$PSScriptRoot/log-fake.ps1"
function Get-Termination {
    $fakeCloud.termination
}
function Complete-Termination {
    param(
        [object] $Machine,
        [hashtable] $Termination
    )
    $fakeCloud.calls += "complete $($Termination.finish)"
}
$machine = ConvertTo-Data @{ paths = @{ kubeconfig = "$temp/kubelet.conf" } }

Test 'nothing is done while the machine may stay' {
    Assert-Equal (Invoke-Round $machine) $false
    Assert-Equal $fakeCloud.calls @()
}
Test 'a machine that joined is drained before the cloud is told; one that never did is not' {
    $fakeCloud.termination = @{ seconds = 600; finish = 'lifecycle'; hook = 'drain' }
    Assert-Equal (Invoke-Round $machine) $true
    Assert-Equal $fakeCloud.calls @('complete lifecycle')
    $fakeCloud.calls = @()
    Set-Content -Path $machine.paths.kubeconfig -Value 'joined'
    Assert-Equal (Invoke-Round $machine) $true
    Assert-Equal $fakeCloud.calls @('drain 600 drain', 'complete lifecycle')
}
Test 'the cloud is told also where the drain fails' {
    $fakeCloud.calls = @()
    $fakeCloud.fail = $true
    Assert-Equal (Invoke-Round $machine) $true
    Assert-Equal $fakeCloud.calls @('drain 600 drain', 'complete lifecycle')
}
Complete-Tests
