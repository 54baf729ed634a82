# The stage machine over its faults: each stage fails, is cut off, is repeated; a reboot between any two.
. "$PSScriptRoot/harness.ps1"
. "$scripts/stage.ps1"
. "$scripts/run.ps1"

# A machine of a pool that has all stages, which only write down that they ran, in a folder of its own.
$fakeText = (Get-Content -Raw -Encoding UTF8 -LiteralPath $env:PAYLOAD | ConvertFrom-Json).'C:\fenestra\machine.json'
$fakeMade = @{}
function New-Machine {
    $data = $fakeText | ConvertFrom-Json
    $folder = "$temp/$([Guid]::NewGuid())"
    Write-Text "$folder/node.json" '{"server":"https://api:6443"}'
    foreach ($stage in $data.stages) { $stage | Add-Member -Force fills @() }
    $data | Add-Member folder $folder
    $data.artifacts = @()
    $data.protected = @("$folder/state", "$folder/logs")
    foreach ($name in 'state', 'logs') { $data.paths.$name = "$folder/$name" }
    $data.paths.node = "$folder/node.json"
    $data.paths.bootstrapKubeconfig = "$folder/bootstrap.conf"
    $fakeMade.data = $data
    $data
}
$fakeStages = @((New-Machine).stages)
$inOrder = @((New-Machine).waves | ForEach-Object { $_ })
$bootNames = @($fakeStages | Where-Object { $_.scope -eq 'boot' } | ForEach-Object { $_.name })
# What comes once the services run.
$lateNames = 'services', 'programs', 'ready', 'after'

# What the fakes do in this test: stages that fail (name to times), stages that want a reboot, and what ran.
$fake = @{}
function Reset-Fake {
    Set-Values $fake @{
        fail = @{}; cut = @{}; reboot = @{}; refuse = 0; boot = 'boot-1'; slip = $null; word = 'reboot'
        status = ''; ready = $true; order = @(); reports = @(); ran = @(); slept = @(); locked = @()
    }
}
foreach ($stage in $fakeStages) {
    $name = $stage.name
    Set-Content -Path "$scripts/$($stage.script)" -Value @(
        'param($Machine)'
        "`$fake.ran += '$name'"
        "`$fake.order += 'stage $name'"
        "if ('$name' -eq 'after') { `$fake.locked += `$fakeLock.held }"
        "if (`$fake.fail['$name'] -gt 0) { `$fake.fail['$name'] -= 1; throw 'made to fail' }"
        "if (`$fake.slip) { `$fake.slip }"
        "if (`$fake.reboot['$name'] -gt 0) { `$fake.reboot['$name'] -= 1; return `$fake.word }"
    )
}
. "$PSScriptRoot/log-fake.ps1"
function Protect-Folder {
    param($Path)
    if ($fake.refuse -gt 0) {
        $fake.refuse -= 1
        throw "access rights of $Path not set: made to fail"
    }
    $fake.order += "protect $(Split-Path -Leaf $Path)"
}
function Stop-NodeService {
    param($Names)
    if ($Names) { $fake.order += "hold $($Names -join ' ')" }
}
function Set-Report {
    param($Machine, $Code)
    $fake.reports += $Code
}
function Start-Sleep {
    param($Seconds)
    $fake.slept += $Seconds
}

function Get-BootId { $fake.boot }
function Get-Service { @{ Status = $fake.status } }
function Test-NodeReady { $fake.ready }
function Get-OwnName { 'n' }

# In place of the lock between processes.
$fakeLock = @{ held = $false }
function Invoke-Alone {
    param($Lock, $Milliseconds, $Body)
    if ($fakeLock.hangs) { return $false }
    $fakeLock.held = $true
    & $Body | Out-Null
    $fakeLock.held = $false
    $true
}

# In place of processes: the stages of a wave one after the other.
function Invoke-Wave {
    param($Stages)
    if ($fake.fail['wave'] -gt 0) {
        $fake.fail['wave'] -= 1
        throw 'no process could be started'
    }
    $codes = @{}
    foreach ($stage in $Stages) {
        $name = $stage.name
        $codes[$name] = Invoke-Stage $fakeMade.data $stage $fake.boot
        if ($fake.cut[$name] -gt 0) {
            # The process was ended in the middle: it wrote no state, and its code is none of ours.
            $fake.cut[$name] -= 1
            Remove-Item -Force -LiteralPath "$($fakeMade.data.paths.state)/$name.json" -ErrorAction SilentlyContinue
            $codes[$name] = -1073741510
        }
    }
    $codes
}

Test 'a run sets access rights before any stage, runs each once, in order, and holds services before the stage that needs them still' {
    Reset-Fake
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fake.reports @(0)
    Assert-Equal @($fake.order | Select-Object -First 3) @('protect state', 'protect logs', 'stage credentials')
    $network = [Array]::IndexOf($fake.order, 'stage network')
    Assert-Equal $fake.order[$network - 1] 'hold kubelet containerd'
    Invoke-Run $machine
    # A stage that is done holds none, and does not run.
    Assert-Equal @($fake.order -like 'hold *').Count 5
    Assert-Equal $fake.ran $inOrder
}
Test 'access rights that cannot be set have a code of their own, run no stage, and are tried again' {
    Reset-Fake
    $fake.refuse = 2
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.reports @(19, 19, 0)
    Assert-Equal $fake.ran $inOrder
    Reset-Fake
    $fake.refuse = 99
    Assert-Equal (Invoke-Run (New-Machine) -FirstWave) 19
    Assert-Equal $fake.ran @()
}
Test 'each failed attempt is reported, but not while the extension runs' {
    Reset-Fake
    $fake.fail['join'] = 2
    Invoke-Run (New-Machine)
    Assert-Equal $fake.reports @(25, 25, 0)
    Reset-Fake
    $fake.fail['artifacts'] = 1
    Invoke-Run (New-Machine) -FirstWave
    Assert-Equal $fake.reports @()
}
Test 'an error outside of every stage does not end the run' {
    Reset-Fake
    $fake.fail['wave'] = 2
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.ran $inOrder
    Assert-Equal $fake.slept.Count 2
}
# Each of these has run once, and the given ones once more.
function Assert-Ran {
    param($Names, $Twice)
    foreach ($name in $Names) { Assert-Equal "$name $(@($fake.ran -eq $name).Count)" "$name $(1 + [int] ($Twice -contains $name))" }
}
foreach ($broken in $inOrder) {
    foreach ($how in 'fail', 'cut') {
        Test "stage $broken ends by $($how): it is tried again, with what it sends back" {
            Reset-Fake
            $fake[$how][$broken] = 1
            $machine = New-Machine
            $stage = $machine.stages | Where-Object { $_.name -eq $broken }
            $code = if ($how -eq 'fail') { $stage.exitCode } else { -1073741510 }
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran $inOrder (@($broken) + $stage.sendsBack)
            Assert-Equal @($fake.slept.Count, $fake.reports) @(1, @($code, 0))
        }
        Test "a reboot after stage $broken has ended by $how loses nothing" {
            Reset-Fake
            $machine = New-Machine
            foreach ($wave in @($machine.waves)) {
                if (@($wave) -contains $broken) { break }
                Invoke-Wave @($machine.stages | Where-Object { @($wave) -contains $_.name })
            }
            $fake[$how][$broken] = 1
            Invoke-Wave @($machine.stages | Where-Object { $_.name -eq $broken })
            $fake.boot = 'boot-2'
            $before = $fake.ran.Count
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran @($inOrder | Where-Object { $bootNames -notcontains $_ }) $broken
            foreach ($name in $bootNames) {
                Assert-Equal @($fake.ran | Select-Object -Skip $before | Where-Object { $_ -eq $name }).Count 1
            }
        }
    }
    Test "stage $broken is cut off while its state is written: it runs again, unless the boot's services prove it" {
        Reset-Fake
        $machine = New-Machine
        Invoke-Run $machine
        Write-Text "$($machine.paths.state)/$broken.json" '{"hash":"h'
        $fake.ran = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal $fake.ran @($lateNames -eq $broken)
        Remove-Item -Force -LiteralPath "$($machine.paths.state)/services.json"
        $fake.ran = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal $fake.ran @($inOrder | Where-Object { $_ -eq 'services' -or ($_ -eq $broken -and $lateNames -notcontains $_) })
    }
}
foreach ($case in @{ word = 'reboot'; runs = 1 }, @{ word = 'again'; runs = 2 }) {
    Test "a stage that answers '$($case.word)' ends the run with 3010, and has run $($case.runs) times after the restart" {
        Reset-Fake
        $fake.reboot['features'] = 1
        $fake.word = $case.word
        $machine = New-Machine
        Assert-Equal (Invoke-Run $machine) 3010
        Assert-Equal $fake.ran @($inOrder | Select-Object -First 4)
        $fake.boot = 'boot-2'
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal @('features', 'artifacts' | ForEach-Object { $name = $_; @($fake.ran -eq $name).Count }) @($case.runs, 1)
    }
}
Test 'facts of the node that are torn, and a token that is back, repeat the stage that they are of' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine
    $fake.ran = @()
    Write-Text $machine.paths.node '{"server":'
    Invoke-Stage $machine ($machine.stages | Where-Object { $_.name -eq 'join' }) $fake.boot
    Write-Text $machine.paths.bootstrapKubeconfig 'token'
    Invoke-Stage $machine ($machine.stages | Where-Object { $_.name -eq 'ready' }) $fake.boot
    Assert-Equal $fake.ran @('join', 'ready')
}
Test 'what the user wants done on a Ready node is done without the lock, and its failure is tried again' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Waves $machine @($machine.waves | Where-Object { $_ -ne 'after' })
    $fake.status = 'Running'
    $fake.fail['after'] = 2
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fake.reports @(31, 31, 0)
    Assert-Equal @($fake.ran -eq 'after').Count 3
    Assert-Equal $fake.locked @($false, $false, $false)
}
Test 'a lock that is held for too long is told, and the run goes on without it' {
    Reset-Fake
    $fakeLock.hangs = $true
    Assert-Equal (Invoke-Run (New-Machine)) 0
    $fakeLock.hangs = $false
    Assert-Equal $fake.ran $inOrder
    Assert-True ($fakeNotices.told[-1] -like '*has held the lock for 2100 s*')
}
Test 'what a stage lets slip beside its answer asks for no reboot' {
    Reset-Fake
    $fake.slip = $true
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.ran $inOrder
}
Test 'a stage that wants reboots for ever is an error after those allowed' {
    Reset-Fake
    $fake.reboot['features'] = 99
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine -FirstWave) 3010
    Assert-Equal (Invoke-Run $machine -FirstWave) 3010
    Assert-Equal (Invoke-Run $machine -FirstWave) 20
}
Test 'in the foreground a wave that fails is tried three times and its code reported' {
    Reset-Fake
    $fake.fail['artifacts'] = 99
    Assert-Equal (Invoke-Run (New-Machine) -FirstWave) 22
    Assert-Equal @($fake.ran -eq 'artifacts').Count 3
    Assert-Equal @($fake.ran -eq 'containerd').Count 0
}
Test 'in the foreground all runs that comes before a restart, also where logins come first' {
    Reset-Fake
    Assert-Equal (Invoke-Run (New-Machine) -FirstWave) 0
    Assert-Equal $fake.ran @('credentials', 'features', 'settings', 'artifacts')
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
