# The stage machine over its faults: each stage fails, is cut off, is repeated; a reboot between any two.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/stage.ps1"
. "$scripts/run.ps1"

# A machine of a pool that has all stages, which only write down that they ran.
$fakeMade = @{}
function New-Machine {
    $fakeMade.data = New-Data @'
artifacts[]
protected[] FOLDER/a, FOLDER/b
'@
    foreach ($stage in $fakeMade.data.stages) { $stage | Add-Member -Force fills @() }
    Write-Text $fakeMade.data.paths.node '{"server":"https://api:6443"}'
    $fakeMade.data
}
$fakeStages = @((New-Machine).stages)
$inOrder = @((New-Machine).waves | ForEach-Object { $_ })
$bootNames = @($fakeStages | Where-Object { $_.scope -eq 'boot' } | ForEach-Object { $_.name })
# What comes once the services run.
$lateNames = 'services', 'programs', 'ready', 'after'

# Each stage is a call, which fails, is cut off or wants a reboot as a test says.
function Reset-Fake {
    param($Values = @{})
    Reset-Pc @{ cut = ''; reboots = 0; word = 'reboot'; boot = 'boot-1'; slip = $null; reports = @(); locks = @() }
    Set-Values $fakePc $Values
}
foreach ($stage in $fakeStages) {
    Set-Content -Path "$scripts/$($stage.script)" -Value @(
        'param($Machine)'
        '$fakePc.locks += [bool] $fakePc.held'
        "Invoke-Call 'stage $($stage.name)' -Sure { }"
        'if ($fakePc.slip) { $fakePc.slip }'
        if ($stage.name -eq 'features') { 'if ($fakePc.reboots -gt 0) { $fakePc.reboots -= 1; return $fakePc.word }' }
    )
}
function Get-Ran { @($fakePc.calls -like 'stage *' -replace '^stage ') }
function Stop-NodeService {
    param($Names)
    if ($Names) { Invoke-Call "hold $Names" { } }
}
function Set-Report {
    param($Machine, $Code)
    $fakePc.reports += $Code
}
function Get-BootId { $fakePc.boot }
function Test-NodeReady { $true }
function Get-OwnName { 'n' }
# In place of processes: the stages of a wave one after the other.
function Invoke-Wave {
    param($Stages)
    Invoke-Call 'wave' -Sure { }
    $codes = @{}
    foreach ($stage in $Stages) {
        $name = $stage.name
        $codes[$name] = Invoke-Stage $fakeMade.data $stage $fakePc.boot
        if ($fakePc.cut -eq $name) {
            # The process was ended in the middle: it wrote no state, and its code is none of ours.
            $fakePc.cut = ''
            Remove-Item -Force "$($fakeMade.data.paths.state)/$name.json" -ErrorAction SilentlyContinue
            $codes[$name] = -1073741510
        }
    }
    $codes
}

Test 'a run sets access rights, then holds services and runs each stage once, in order' {
    Reset-Fake
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fakePc.reports @(0)
    Assert-Equal @($fakePc.calls -match '^(Get-Acl|stage)' | Select-Object -First 3) @('Get-Acl', 'Get-Acl', 'stage credentials')
    $order = @($fakePc.calls -match '^(hold|stage)')
    Assert-Equal $order[[Array]::IndexOf($order, 'stage network') - 1] 'hold kubelet containerd'
    # Nobody repairs meanwhile, but beside the last.
    Assert-Equal @($fakePc.locks -eq $false).Count 1
    Invoke-Run $machine
    # A stage that is done holds none, and does not run.
    Assert-Equal @($fakePc.calls -like 'hold *').Count 5
    Assert-Equal @(Get-Ran) $inOrder
}
foreach ($case in Read-Table @'
title|call|times|first|ends|reports[]|ran|of
access rights that cannot be set have their code, run no stage, and are tried again|icacls.exe*|2||0|19, 19, 0|all|
and are told where the extension runs|icacls.exe*|99|True|19||none|
each failed attempt is reported|stage join|2||0|25, 25, 0|all|
but not while the extension runs|stage artifacts|1|True|0||first|
an error outside of every stage does not end the run|wave|2||0|1, 1, 0|all|
in the foreground a failed wave is tried three times, and its code returned|stage artifacts|99|True|22||first|artifacts
in the foreground all runs that comes before a restart||0|True|0||first|
'@) {
    Test "$($case.title)" {
        Reset-Fake @{ acl = ''; call = $case.call; way = 'throws'; times = $case.times }
        Assert-Equal (Invoke-Run (New-Machine) -FirstWave:([bool] $case.first)) $case.ends
        Assert-Equal @($fakePc.reports | ForEach-Object { "$_" }) $case.reports
        Assert-Equal @(Get-Ran | Select-Object -Unique) @(switch ($case.ran) { 'all' { $inOrder } 'first' { $inOrder | Select-Object -First 4 } })
        if ($case.of) { Assert-Equal @((Get-Ran) -eq $case.of).Count 3 }
    }
}
# Each of these has run once, and the given ones once more.
function Assert-Ran {
    param($Names, $Twice)
    foreach ($name in $Names) { Assert-Equal "$name $(@((Get-Ran) -eq $name).Count)" "$name $(1 + [int] ($Twice -contains $name))" }
}
# A stage that ends by its own error, or whose process is ended.
$fakeEnds = @{ fail = { Set-Values $fakePc @{ call = "stage $broken"; way = 'throws'; times = 1 } }; cut = { $fakePc.cut = $broken } }
foreach ($broken in $inOrder) {
    foreach ($how in 'fail', 'cut') {
        Test "stage $broken ends by $($how): tried again, with what it sends back; a reboot loses nothing" {
            Reset-Fake
            $machine = New-Machine
            & $fakeEnds[$how]
            $stage = $machine.stages | Where-Object { $_.name -eq $broken }
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran $inOrder (@($broken) + $stage.sendsBack)
            Assert-Equal @($fakePc.slept.Count, $fakePc.reports) @(1, @($(if ($how -eq 'fail') { $stage.exitCode } else { -1073741510 }), 0))
            Reset-Fake
            $machine = New-Machine
            foreach ($wave in @($machine.waves)) {
                if (@($wave) -contains $broken) { break }
                Invoke-Wave @($machine.stages | Where-Object { @($wave) -contains $_.name })
            }
            & $fakeEnds[$how]
            Invoke-Wave @($machine.stages | Where-Object { $_.name -eq $broken })
            $fakePc.boot = 'boot-2'
            $before = (Get-Ran).Count
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran @($inOrder | Where-Object { $bootNames -notcontains $_ }) $broken
            foreach ($name in $bootNames) { Assert-Equal @(Get-Ran | Select-Object -Skip $before | Where-Object { $_ -eq $name }).Count 1 }
        }
    }
    Test "stage $broken has a torn state: it runs again, unless the boot's services prove it" {
        Reset-Fake
        $machine = New-Machine
        Invoke-Run $machine
        Write-Text "$($machine.paths.state)/$broken.json" '{"hash":"h'
        $fakePc.calls = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal @(Get-Ran) @($lateNames -eq $broken)
        Remove-Item -Force "$($machine.paths.state)/services.json"
        $fakePc.calls = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal @(Get-Ran) @($inOrder | Where-Object { $_ -eq 'services' -or ($_ -eq $broken -and $lateNames -notcontains $_) })
    }
}
Test 'services of another boot, or of another payload, prove nothing' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine
    Remove-Item "$($machine.paths.state)/features.json"
    $proof = "$($machine.paths.state)/services.json"
    $good = Read-Text $proof
    foreach ($field in '', 'hash', 'boot') {
        Write-Text $proof ($good -replace "(`"$field`":`")[^`"]+", '${1}x')
        Assert-Equal (Test-StageDone $machine $fakeStages[0] 'boot-1') ($field -eq '')
    }
}
Test 'a stage that wants a restart and itself again gets both, as often as allowed' {
    Reset-Fake @{ reboots = 99; word = 'again' }
    $machine = New-Machine
    foreach ($code in 3010, 3010, 20) {
        Assert-Equal (Invoke-Run $machine -FirstWave) $code
        $fakePc.boot += '+'
    }
    # In the foreground what fails is tried three times.
    Assert-Equal @('features', 'artifacts' | ForEach-Object { $name = $_; @((Get-Ran) -eq $name).Count }) @(5, 1)
}
Test 'a restart that does not come is asked for again, without its stage' {
    Reset-Fake @{ reboots = 1 }
    $machine = New-Machine
    foreach ($time in 1, 2, 3, 4) { Assert-Equal (Invoke-Run $machine -FirstWave) 3010 }
    $fakePc.boot = 'boot-2'
    Assert-Equal (Invoke-Run $machine -FirstWave) 0
    Assert-Equal @((Get-Ran) -eq 'features').Count 1
}
Test 'torn facts of the node, and a token that is back, repeat their stage' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine
    $fakePc.calls = @()
    Write-Text $machine.paths.node '{"server":'
    Invoke-Stage $machine ($machine.stages | Where-Object { $_.name -eq 'join' }) $fakePc.boot
    Write-Text $machine.paths.bootstrapKubeconfig 'token'
    Invoke-Stage $machine ($machine.stages | Where-Object { $_.name -eq 'ready' }) $fakePc.boot
    Assert-Equal @(Get-Ran) @('join', 'ready')
}
Test 'the user''s steps on a Ready node go without the lock, and are tried again' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Waves $machine @($machine.waves | Where-Object { $_ -ne 'after' })
    Set-Values $fakePc @{ calls = @(); locks = @(); call = 'stage after'; way = 'throws'; times = 2; services = @{ kubelet = @{ status = 'Running' } } }
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fakePc.reports @(31, 31, 0)
    Assert-Equal $fakePc.locks @($false, $false, $false)
}
Test 'a lock that is held too long is told, and the run goes on; what a stage lets slip asks for no reboot' {
    Reset-Fake @{ locked = $true; slip = $true }
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal @(Get-Ran) $inOrder
    Assert-True ($fakePc.told[-1] -like '*has held the lock for 2100 s*')
}
Test 'a stage whose script a power failure has left empty is not done' {
    Reset-Fake
    $machine = New-Machine
    $stage = $machine.stages | Where-Object { $_.name -eq 'settings' }
    $script = Read-Text "$scripts/$($stage.script)"
    [IO.File]::WriteAllText("$scripts/$($stage.script)", '')
    Assert-Equal (Invoke-Stage $machine $stage 'boot-1') 34
    Write-Text "$scripts/$($stage.script)" $script
    Assert-Equal (Invoke-Stage $machine $stage 'boot-1') 0
}
Test 'a folder is closed anew unless system and administrators alone have rights of it' {
    foreach ($case in 'PAI SY BA 0', 'P BA SY 0', 'AI SY BA 1', 'PAI SY SY 1', 'PAI SY BA BU 1') {
        $kind, $who = -split $case
        Reset-Fake @{ acl = "O:BAG:SYD:$kind$(-join @($who[0..($who.Count - 2)] | ForEach-Object { "(A;OICI;FA;;;$_)" }))" }
        Protect-Folder $temp
        Assert-Equal "$(@($fakePc.deeds -like 'icacls.exe *').Count)" $who[-1]
    }
}
foreach ($least in 0, 1e18) {
    Test "an attempt with less than $least bytes free takes what nobody needs, and no more" {
        Reset-Fake
        $machine = New-Machine
        $machine.watch.logBytes = $least
        $gone = "$($machine.paths.logs)/kubelet.log.1", "$($machine.paths.dumps)/a.dmp", "$($machine.paths.downloads)/a.tar.gz"
        $kept = "$($machine.paths.logs)/kubelet.log", "$($machine.paths.downloads)/kept/a.tar.gz.json"
        foreach ($path in $gone + $kept) { Write-Text $path 'x' }
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal @(($gone + $kept) | Where-Object { Test-Path $_ }) $(if ($least) { $kept } else { $gone + $kept })
    }
}
Test 'pauses grow, stay level and differ by a fifth at most' {
    $machine = New-Machine
    for ($attempt = 0; $attempt -lt 20; $attempt += 1) {
        $base = [Math]::Min(10 * [Math]::Pow(2, $attempt), 300)
        $pause = Get-Pause $machine $attempt
        if ($pause -lt $base -or $pause -gt $base * 1.2) { throw "pause $pause at attempt $attempt" }
    }
}
Complete-Tests
