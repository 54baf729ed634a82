# A machine's state over its stages: whatever fails on a machine that was Ready, nothing is taken from its
# pods, and each trouble is repaired; with the real runner and health task on the machine of machine.ps1. Of a
# stage's calls the first and last of each kind fail.
. "$PSScriptRoot/machine.ps1"
. "$scripts/run.ps1"
. "$scripts/watch-health.ps1"

$fakeRecords = $fakeData.paths.state
$fakeNames = @($fakeData.stages.name)
$fakeKeep = "$temp/records"

# A machine that is Ready, as its files are.
function Reset-Ready {
    Set-Values $fakePc @{ calls = @(); deeds = @(); told = @(); log = @(); slept = @(); pauses = 0; ran = @(); hung = $false; alone = $false; networks = $fakeNetworks; routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1'); processes = @('kubelet') }
    Remove-Item -Recurse -Force $fakeRecords
    Copy-Item -Recurse $fakeKeep -Destination $fakeRecords
    $fakePc.registry['SOFTWARE\fenestra-boot'] = @{ id = $fakeBoot }
    # A failed registration has left none.
    foreach ($name in 'hns', 'containerd', 'kubelet') { $fakePc.services[$name] = @{ status = 'Running' } }
    Remove-Item -Force $fakeData.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
}
# What ten rounds of the health task do against all troubles at once; empty when each is gone.
function Get-Trouble {
    Set-Values $fakePc @{ hung = $true; routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1') }
    $fakePc.services.kubelet.status = 'Stopped'
    $kept = @{ port = $fakePort; ready = [Diagnostics.Stopwatch]::StartNew(); beat = New-Deadline 86400 }
    for ($round = 1; $round -le 10; $round += 1) { Invoke-Round $fakeData (Get-BootId) $kept }
    if ($fakePc.hung) { 'HNS hangs' }
    if ($fakePc.services.kubelet.status -ne 'Running') { 'no kubelet' }
    foreach ($prefix in $fakeData.network.routes) { if ($fakePc.routes.DestinationPrefix -notcontains $prefix) { "no route $prefix" } }
}
Assert-Equal (Invoke-Boot) 3010
Restart-Fake
Assert-Ready
Copy-Item -Recurse $fakeRecords -Destination $fakeKeep
$fakeBoot = Get-BootId
$fakeNetworks = $fakePc.networks

Test 'beside pods no stage runs that takes anything; repairs wait for none behind the kubelet''s start' {
    $fakeStages = $fakeData.stages
    Assert-Equal @($fakeStages | Where-Object { -not (Get-Leave $_ 'up').runs } | ForEach-Object { $_.name } | Sort-Object) @('artifacts', 'before', 'containerd', 'features', 'network', 'proxy', 'services')
    Assert-Equal @($fakeStages | ForEach-Object { (Get-Leave $_ 'up').stops }) @()
    Assert-Equal @($fakeStages | Where-Object { -not (Get-Leave $_ 'down').alone } | ForEach-Object { $_.name } | Sort-Object) @('after', 'programs', 'ready')
}
# All that a round reads: what it does is the same where this is the same.
function Get-Print {
    $files = foreach ($file in Get-ChildItem -Recurse -File $drive | Where-Object { $_.FullName -notmatch '\.log$|/downloads/' } | Sort-Object FullName) {
        $text = Read-Text $file.FullName
        "$($file.FullName) $(if ($file.FullName -like "$fakeRecords*") { $text -replace '"(finished|boot)":"[^"]*"' } else { $text.Length })"
    }
    $services = $fakePc.services.Keys | Sort-Object | ForEach-Object { "$_ $($fakePc.services[$_].status)" }
    Get-TextDigest (@($files) + $services + $fakePc.routes.DestinationPrefix + $fakePc.networks.Name + $fakePc.hung -join "`n")
}
$seen = @{}
foreach ($when in 'up', 'later') {
    foreach ($torn in $fakeNames) {
        Test "${when}: a Ready machine is repaired where $torn fails at any call" {
            $new = {
                Reset-Ready
                if ($when -eq 'later') { Restart-Fake }
                Write-Text "$fakeRecords/$torn.json" '{"hash":"another"}'
            }
            $run = { Invoke-Waves $fakeData @(, @($torn)) }
            & $new
            & $run
            Assert-Equal ($fakePc.ran -contains $torn) ($when -eq 'later' -or (Get-Leave ($fakeData.stages | Where-Object { $_.name -eq $torn }) 'up').runs)
            # From it on all of its kind fail: the first of a kind and the last.
            Test-Calls $new $run -Reach 'kind' -Which {
                $kinds = @($args[0] | ForEach-Object { Get-Kind $_ })
                $at = $args[1] - 1
                if ($kinds[$at] -match '^(Get-(Service|Process)|Remove-NetRoute|WaitForStatus|registry)$') { return $false }
                [Array]::IndexOf($kinds, $kinds[$at]) -eq $at -or [Array]::LastIndexOf($kinds, $kinds[$at]) -eq $at
            } -Holds {
                if ($when -eq 'up') {
                    foreach ($name in 'hns', 'containerd', 'kubelet') { if ($fakePc.services[$name].status -ne 'Running') { throw "$name was stopped" } }
                    foreach ($name in $fakeNames) { if (-not (Test-Path "$fakeRecords/$name.json")) { throw "record $name is gone" } }
                }
                $print = "$when $(Get-Print)"
                if ($seen[$print]) { return }
                $seen[$print] = $true
                Assert-Equal @(Get-Trouble) @()
            }
        }
    }
}
foreach ($stuck in @($fakeData.stages | Where-Object { $_.scope -eq 'boot' } | ForEach-Object { $_.name })) {
    Test "a node whose later boot fails in $stuck is repaired all the same, then Ready" {
        Reset-Ready
        Restart-Fake
        $fakeStage = $fakeData.stages | Where-Object { $_.name -eq $stuck }
        $fakeScript = "$scripts/$($fakeStage.script)"
        Write-Text "$fakeScript.good" (Read-Text $fakeScript)
        Write-Text $fakeScript 'throw "made to fail"'
        Assert-Equal (Invoke-Attempt $fakeData) $fakeStage.exitCode
        Write-Text $fakeScript (Read-Text "$fakeScript.good")
        # Nobody asks the publisher for what is there.
        $fakePc.alone = $true
        Assert-Equal @(Get-Trouble) @()
        Assert-Ready
    }
}
Complete-Tests
