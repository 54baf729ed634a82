# The task that asks the cloud: drains once, tells the cloud, and needs nothing of HNS.
. "$PSScriptRoot/harness.ps1"
foreach ($name in 'lib.ps1', 'identity.ps1', 'sigv4.ps1', 'notice.ps1', 'watch-notices.ps1') {
    Copy-Item -LiteralPath "$scripts/$name" -Destination $temp
}
Set-Content -Path "$temp/drain.ps1" -Value @(
    'param([int] $Seconds, [string] $Hook)'
    '$cloud.calls += "drain $Seconds $Hook"'
    'exit 0'
)
. "$temp/watch-notices.ps1"

$cloud = @{ calls = @(); termination = $null }
. "$PSScriptRoot/log-fake.ps1"
function Get-Termination {
    $cloud.termination
}
function Complete-Termination {
    param(
        [object] $Machine,
        [hashtable] $Termination
    )
    $cloud.calls += "complete $($Termination.finish)"
}
$machine = ConvertTo-Data @{ paths = @{ kubeconfig = "$temp/kubelet.conf" } }

Test 'nothing is done while the machine may stay' {
    Assert-Equal (Invoke-Round $machine) $false
    Assert-Equal $cloud.calls @()
}
Test 'a machine that joined is drained before the cloud is told; one that never did is not' {
    $cloud.termination = @{ seconds = 600; finish = 'lifecycle'; hook = 'drain' }
    Assert-Equal (Invoke-Round $machine) $true
    Assert-Equal $cloud.calls @('complete lifecycle')
    $cloud.calls = @()
    Set-Content -Path $machine.paths.kubeconfig -Value 'joined'
    Assert-Equal (Invoke-Round $machine) $true
    Assert-Equal $cloud.calls @('drain 600 drain', 'complete lifecycle')
}
Complete-Tests
