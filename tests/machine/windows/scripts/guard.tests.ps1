# The table of a machine's state over its stages: whatever fails on a machine that was Ready, nothing is taken from its
# pods, and each trouble is repaired; with the real runner and health task on the fakes of recovery.tests.ps1.
$fakesOnly = $true
. "$PSScriptRoot/recovery.tests.ps1"
. "$scripts/run.ps1"
. "$scripts/watch-health.ps1"

# Each call from outside has a number, and one of them fails.
$fakeCalls = @{ count = 0; fail = 0; names = @() }
function Step-Call {
    param([string] $Name)
    $fakeCalls.count += 1
    $fakeCalls.names += $Name
    if ($fakeCalls.count -eq $fakeCalls.fail) { throw "made to fail: $Name" }
}
$fakeReal = @{}
foreach ($name in 'Invoke-FakeProgram', 'Set-Service', 'New-Service', 'New-NetFirewallRule', 'New-CimSession', 'Get-CimInstance', 'Get-WindowsFeature') {
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
    Set-Values $fakeCalls @{ count = 0; fail = 0; names = @() }
    Set-Values $fakePc @{ hung = $false; pauses = 0; ran = @(); alone = $false }
    Remove-Item -Recurse -Force -LiteralPath $fakeRecords
    Copy-Item -Recurse -LiteralPath $fakeKeep -Destination $fakeRecords
    foreach ($name in 'hns', 'containerd', 'kubelet') { $fakeServices[$name].status = 'Running' }
    $table.routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1')
    Remove-Item -Force -LiteralPath $fakeData.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
}
# What ten rounds of the health task do against all troubles at once; empty when each is gone.
function Get-Trouble {
    Set-Values $fakeCalls @{ fail = 0 }
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
foreach ($torn in $fakeNames) {
    Test "a Ready node without the record of $torn keeps its services, and is repaired while the stage fails at each of its calls" {
        $tried = @{}
        for ($fail = 1; $true; $fail += 1) {
            Reset-Ready
            Remove-Item -LiteralPath "$fakeRecords/$torn.json"
            # One kind of call once.
            if ($tried.names -and $fail -le $tried.names.Count -and @($tried.names[0..($fail - 1)] -eq $tried.names[$fail - 1]).Count -gt 1) { continue }
            $fakeCalls.fail = $fail
            Invoke-Attempt $fakeData | Out-Null
            $tried.names = $fakeCalls.names
            foreach ($name in 'hns', 'containerd', 'kubelet') { if ($fakeServices[$name].status -ne 'Running') { throw "$name was stopped by $($fakePc.ran) at call $fail" } }
            foreach ($name in $fakeNames -ne $torn) { if (-not (Test-Path -LiteralPath "$fakeRecords/$name.json")) { throw "record $name is gone at call $fail" } }
            $left = @(Get-Trouble)
            if ($left.Count -gt 0) { throw "at call $fail, $($tried.names[$fail - 1]): $left" }
            if ($fail -ge $tried.names.Count) { break }
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
        Write-Text "$scripts/stage-$stuck.ps1.good" (Read-Text "$scripts/stage-$stuck.ps1")
        Write-Text "$scripts/stage-$stuck.ps1" 'throw "made to fail"'
        Assert-Equal (Invoke-Attempt $fakeData) $fakeStage.exitCode
        Write-Text "$scripts/stage-$stuck.ps1" (Read-Text "$scripts/stage-$stuck.ps1.good")
        # Nobody asks the publisher for what is there.
        $fakePc.alone = $true
        Assert-Equal @(Get-Trouble) @()
        Assert-Ready
    }
}
Complete-Tests
