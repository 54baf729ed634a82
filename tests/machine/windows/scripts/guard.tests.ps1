# The table of a machine's state over its stages: whatever fails on a machine that was Ready, nothing is taken from its
# pods, and each trouble is repaired; with the real runner and health task on the fakes of recovery.tests.ps1. Of a
# stage's calls the first and last of each kind fail, with EACH_CALL, as guard.night.test.ts has it, every one.
$fakesOnly = $true
. "$PSScriptRoot/recovery.tests.ps1"
. "$scripts/run.ps1"
. "$scripts/watch-health.ps1"

# Each call of a stage has a number: from one on all of its kind fail.
$fakeCalls = @{ count = 0; fail = 0; names = @() }
function Step-Call {
    param($Name)
    if ($fakeStage -ne $fakeCalls.stage) { return }
    $fakeCalls.count += 1
    $fakeCalls.names += $Name
    if ($fakeCalls.count -eq $fakeCalls.fail) { $fakeCalls.kind = $Name }
    if ($Name -eq $fakeCalls.kind) { throw "made to fail: $Name" }
}
$fakeReal = @{}
foreach ($name in 'Invoke-FakeProgram', 'Set-Service', 'New-Service', 'New-NetFirewallRule', 'New-CimSession', 'Get-CimInstance', 'Get-WindowsFeature', 'Install-WindowsFeature', 'Get-NetRoute', 'New-NetRoute', 'Get-NetIPAddress', 'Get-Acl') {
    $fakeReal[$name] = (Get-Item "function:$name").ScriptBlock
    Set-Item "function:$name" ([scriptblock]::Create("Step-Call '$name'; & `$fakeReal['$name'] @args"))
}
$fakeAnswer = $fakeWeb.answer
$fakeWeb.answer = { param($Call, $Headers, $Body); Step-Call $Call; & $fakeAnswer $Call $Headers $Body }
function Get-ScheduledTask { @{ State = 'Running' } }
# The port is open already: a round opens none.
$fakePort = New-Fake @{} @{ Pending = { $false } }
$fakeRecords = $fakeData.paths.state
$fakeNames = @($fakeData.stages.name)
$fakeKeep = "$temp/records"

# A machine that is Ready, as its files are.
function Reset-Ready {
    Set-Values $fakeCalls @{ count = 0; fail = 0; names = @(); kind = ''; stage = '' }
    Set-Values $fakePc @{ hung = $false; pauses = 0; ran = @(); alone = $false }
    Remove-Item -Recurse -Force -LiteralPath $fakeRecords
    Copy-Item -Recurse -LiteralPath $fakeKeep -Destination $fakeRecords
    $fakePc.keys['SOFTWARE\fenestra-boot'] = @{ id = $fakeBoot }
    $hns.networks = $fakeNetworks
    # A failed registration has left none.
    foreach ($name in 'hns', 'containerd', 'kubelet') { $fakeServices[$name] = @{ status = 'Running' } }
    $table.routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1')
    Remove-Item -Force -LiteralPath $fakeData.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
}
# What ten rounds of the health task do against all troubles at once; empty when each is gone.
function Get-Trouble {
    $fakeCalls.stage = ''
    $fakePc.hung = $true
    $fakeServices.kubelet.status = 'Stopped'
    $table.routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1')
    $kept = @{ port = $fakePort; ready = [Diagnostics.Stopwatch]::StartNew(); beat = New-Deadline 600 }
    for ($round = 1; $round -le 10; $round += 1) { Invoke-Round $fakeData (Get-BootId) $kept }
    if ($fakePc.hung) { 'HNS hangs' }
    if ($fakeServices.kubelet.status -ne 'Running') { 'no kubelet' }
    foreach ($prefix in $fakeData.network.routes) { if ($table.routes.DestinationPrefix -notcontains $prefix) { "no route $prefix" } }
}
Assert-Equal (Invoke-Boot) 3010
Restart-Fake
Assert-Ready
Copy-Item -Recurse -LiteralPath $fakeRecords -Destination $fakeKeep
$fakeBoot = Get-BootId
$fakeNetworks = $hns.networks

Test 'the table: where pods may run no stage runs that takes anything, and none is made again; new machines alone are not repaired' {
    foreach ($stage in $fakeData.stages) {
        foreach ($state in 'new', 'down', 'up') {
            $leave = Get-Leave $stage $state
            Assert-Equal $leave.runs ($state -ne 'up' -or 'features', 'artifacts', 'containerd', 'proxy', 'network', 'before', 'services' -notcontains $stage.name)
            if ($state -eq 'up') { Assert-Equal @($leave.stops.Count, $leave.again.Count, $leave.alone) @(0, 0, $false) }
            else { Assert-Equal @($leave.stops, $leave.again) @(@($stage.services | Where-Object { $_ }), @($stage.sendsBack | Where-Object { $_ })) }
            # Repairs wait for no stage behind the kubelet's start once the node was Ready.
            if ($state -eq 'down') { Assert-Equal $leave.alone ('programs', 'ready', 'after' -notcontains $stage.name) }
        }
    }
}
# One attempt at a stage that is to be made again, on a machine that was Ready, in this boot or a later one.
function Invoke-Failing {
    param($Name, $When, $From)
    Reset-Ready
    if ($When -eq 'later') { Restart-Fake }
    Write-Text "$fakeRecords/$Name.json" '{"hash":"another"}'
    Set-Values $fakeCalls @{ fail = $From; stage = $Name }
    Invoke-Waves $fakeData @(, @($Name)) | Out-Null
}
# All that a round reads: what it does is the same where this is the same.
function Get-Print {
    $files = foreach ($file in Get-ChildItem -Recurse -File -LiteralPath $drive | Where-Object { $_.FullName -notmatch '\.log$|/downloads/' } | Sort-Object FullName) {
        $text = Read-Text $file.FullName
        "$($file.FullName) $(if ($file.FullName -like "$fakeRecords*") { $text -replace '"(finished|boot)":"[^"]*"' } else { $text.Length })"
    }
    $services = $fakeServices.Keys | Sort-Object | ForEach-Object { "$_ $($fakeServices[$_].status)" }
    Get-TextDigest (@($files) + $services + $table.routes.DestinationPrefix + $hns.networks.Name + $fakePc.hung -join "`n")
}
$seen = @{}
foreach ($when in 'up', 'later') {
    foreach ($torn in $fakeNames) {
        Test "${when}: a machine that was Ready is repaired where $torn has failed at any of its calls" {
            Invoke-Failing $torn $when 0
            $names = $fakeCalls.names
            Assert-Equal ($fakePc.ran -contains $torn) ($when -eq 'later' -or (Get-Leave ($fakeData.stages | Where-Object { $_.name -eq $torn }) 'up').runs)
            for ($from = 1; $from -le $names.Count; $from += 1) {
                # By day the first of a kind and the last.
                $kind = $names[$from - 1]
                if (-not $env:EACH_CALL -and [Array]::IndexOf($names, $kind) -ne $from - 1 -and [Array]::LastIndexOf($names, $kind) -ne $from - 1) { continue }
                Invoke-Failing $torn $when $from
                $at = "at call $from of $($names.Count), $kind"
                if ($when -eq 'up') {
                    foreach ($name in 'hns', 'containerd', 'kubelet') { if ($fakeServices[$name].status -ne 'Running') { throw "$name was stopped $at" } }
                    foreach ($name in $fakeNames) { if (-not (Test-Path -LiteralPath "$fakeRecords/$name.json")) { throw "record $name is gone $at" } }
                }
                $print = "$when $(Get-Print)"
                if ($seen[$print]) { continue }
                $seen[$print] = $true
                $left = @(Get-Trouble)
                if ($left.Count -gt 0) { throw "${at}: $left" }
            }
        }
    }
}
Test 'a hook that refuses, and an own script that fails, take nothing from a Ready node' {
    foreach ($case in @{ stage = 'ready'; code = 27 }, @{ stage = 'after'; code = 31 }) {
        Reset-Ready
        Remove-Item -LiteralPath "$fakeRecords/$($case.stage).json"
        if ($case.stage -eq 'after') {
            function Invoke-FakeProgram { throw 'refused' }
            function Test-NodeReady { $true }
        }
        else {
            $fakeWeb.answer = { param($Call, $Headers, $Body); if ($Call -like 'POST https://autoscaling*') { throw 'throttled' }; & $fakeAnswer $Call $Headers $Body }
        }
        foreach ($attempt in 1, 2) { Assert-Equal (Invoke-Attempt $fakeData) $case.code }
        Assert-Equal $fakePc.ran @($case.stage, $case.stage)
        Assert-Equal @($fakeNames | Where-Object { -not (Test-Path -LiteralPath "$fakeRecords/$_.json") }) @(@($case.stage) -ne 'ready')
    }
}
foreach ($stuck in @($fakeData.stages | Where-Object { $_.scope -eq 'boot' } | ForEach-Object { $_.name })) {
    Test "a node that was Ready and whose later boot fails in $stuck is repaired all the same, and Ready once it does not" {
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
