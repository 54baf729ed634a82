# The stage machine over its faults: each stage fails, is cut off, is repeated; a reboot between any two.
. "$PSScriptRoot/harness.ps1"
. "$scripts/stage.ps1"
. "$scripts/run.ps1"

$fakeNames = 'features', 'settings', 'artifacts', 'containerd', 'network', 'join', 'ccg', 'services', 'programs', 'ready'
# Those that are done once; the others are done at each boot.
$onceNames = 'features', 'settings', 'artifacts', 'containerd', 'ccg', 'programs', 'ready'

# A machine whose stages only write down that they ran, in a folder of its own.
function New-Machine {
    param([string] $Hash = 'h')
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/state"
    $stages = @(foreach ($name in $fakeNames) {
        $scope = 'once'
        if ('network', 'join', 'services' -contains $name) { $scope = 'boot' }
        @{ name = $name; scope = $scope; exitCode = 21 + [Array]::IndexOf($fakeNames, $name); hash = $Hash; fills = @(); services = @() }
    })
    $stages[0].reboots = $true
    $stages[4].services = @('kubelet', 'containerd')
    Write-Text "$folder/node.json" '{"server":"https://api:6443"}'
    ConvertTo-Data @{
        folder    = $folder
        paths     = @{ state = "$folder/state"; logs = "$folder/logs"; node = "$folder/node.json"; bootstrapKubeconfig = "$folder/bootstrap.conf" }
        stages    = @($stages)
        waves     = @(@('features', 'settings', 'artifacts'), @('network', 'missing'), @('containerd', 'join', 'ccg'), @('services', 'missing'), @('programs', 'missing'), @('ready', 'missing'))
        reboots   = @{ allowed = 2 }
        retry     = @{ pauseSeconds = @(10, 20, 40); jitter = 0.2; foregroundAttempts = 3; lockSeconds = 7 }
        exitCodes = @{ reboot = 3010; accessRights = 19; rebootLoop = 20 }
        protected = @("$folder/state", "$folder/logs")
    }
}

# What the fakes do in this test: stages that fail (name to times), stages that want a reboot, and what ran.
$fake = @{}
function Reset-Fake {
    Set-Values $fake @{
        fail = @{}; cut = @{}; reboot = @{}; refuse = 0; boot = 'boot-1'; slip = $null; word = 'reboot'
        status = ''; ready = $true; order = @(); reports = @(); ran = @(); slept = @(); locked = @()
    }
}
foreach ($name in $fakeNames + 'after') {
    Set-Content -Path "$scripts/stage-$name.ps1" -Value @(
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
    param([string] $Path)
    if ($fake.refuse -gt 0) {
        $fake.refuse -= 1
        throw "access rights of $Path not set: made to fail"
    }
    $fake.order += "protect $(Split-Path -Leaf $Path)"
}
function Stop-NodeService {
    param([string[]] $Names)
    if ($Names) { $fake.order += "hold $($Names -join ' ')" }
}
function Set-Report {
    param($Machine, [int] $Code)
    $fake.reports += $Code
}
function Start-Sleep {
    param([double] $Seconds)
    $fake.slept += $Seconds
}

function Get-BootId { $fake.boot }
function Get-Service { @{ Status = $fake.status } }
function Test-NodeReady { $fake.ready }
function Get-OwnName { 'n' }

# In place of the lock between processes.
$fakeLock = @{ held = $false }
function Invoke-Alone {
    param([string] $Lock, [int] $Milliseconds, [scriptblock] $Body)
    if ($fakeLock.hangs) { return $false }
    $fakeLock.held = $true
    & $Body | Out-Null
    $fakeLock.held = $false
    $true
}

# In place of processes: the stages of a wave one after the other.
function Invoke-Wave {
    param($Machine, [string[]] $Names)
    if ($fake.fail['wave'] -gt 0) {
        $fake.fail['wave'] -= 1
        throw 'no process could be started'
    }
    $codes = @{}
    foreach ($name in $Names) {
        if ($name -eq 'missing') { continue }
        $stage = $Machine.stages | Where-Object { $_.name -eq $name }
        $codes[$name] = Invoke-Stage $Machine $stage $fake.boot
        if ($fake.cut[$name] -gt 0) {
            # The process was ended in the middle: it wrote no state, and its code is none of ours.
            $fake.cut[$name] -= 1
            Remove-Item -Force -LiteralPath "$($Machine.paths.state)/$name.json" -ErrorAction SilentlyContinue
            $codes[$name] = -1073741510
        }
    }
    foreach ($name in @($Names -eq 'missing')) { $codes[$name] = 0 }
    $codes
}

$inOrder = 'features', 'settings', 'artifacts', 'network', 'containerd', 'join', 'ccg', 'services', 'programs', 'ready'
Test 'a run sets access rights before any stage, runs each once, in order, and holds services before the stage that needs them still' {
    Reset-Fake
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fake.reports @(0)
    Assert-Equal @($fake.order | Select-Object -First 3) @('protect state', 'protect logs', 'stage features')
    $network = [Array]::IndexOf($fake.order, 'stage network')
    Assert-Equal $fake.order[$network - 1] 'hold kubelet containerd'
    Invoke-Run $machine
    # A stage that is done holds none, and does not run.
    Assert-Equal @($fake.order -like 'hold *').Count 1
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
    Assert-Equal $fake.reports @(26, 26, 0)
    Reset-Fake
    $fake.fail['artifacts'] = 1
    Invoke-Run (New-Machine) -FirstWave
    Assert-Equal $fake.reports @()
}
Test 'the next boot makes again what Windows forgets, and nothing else' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine
    $fake.ran = @()
    $fake.boot = 'boot-2'
    Invoke-Run $machine
    Assert-Equal $fake.ran @('network', 'join', 'services')
}
Test 'an error outside of every stage does not end the run' {
    Reset-Fake
    $fake.fail['wave'] = 2
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.ran $inOrder
    Assert-Equal $fake.slept.Count 2
}
# How often each stage has run: once, and the given one once more; in the order in which they are listed.
function Assert-Ran {
    param([string[]] $Names, [string] $Twice)
    foreach ($name in $Names) {
        Assert-Equal @($fake.ran -eq $name).Count (1 + [int] ($name -eq $Twice))
    }
}
foreach ($broken in $fakeNames) {
    foreach ($how in 'fail', 'cut') {
        Test "stage $broken ends by $($how): it is tried again, and nothing that was done is" {
            Reset-Fake
            $fake[$how][$broken] = 1
            $machine = New-Machine
            $code = if ($how -eq 'fail') { ($machine.stages | Where-Object { $_.name -eq $broken }).exitCode } else { -1073741510 }
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran $fakeNames $broken
            Assert-Equal @($fake.slept.Count, $fake.reports) @(1, @($code, 0))
        }
        Test "a reboot after stage $broken has ended by $how loses nothing" {
            Reset-Fake
            $machine = New-Machine
            foreach ($wave in @($machine.waves)) {
                if (@($wave) -contains $broken) { break }
                Invoke-Wave $machine @($wave)
            }
            $fake[$how][$broken] = 1
            Invoke-Wave $machine @($broken)
            $fake.boot = 'boot-2'
            $before = $fake.ran.Count
            Assert-Equal (Invoke-Run $machine) 0
            Assert-Ran $onceNames $broken
            foreach ($name in 'network', 'join', 'services') {
                Assert-Equal @($fake.ran | Select-Object -Skip $before | Where-Object { $_ -eq $name }).Count 1
            }
        }
    }
    Test "stage $broken is cut off while its state is written: it runs again, unless the boot's services prove it" {
        Reset-Fake
        $machine = New-Machine
        Invoke-Run $machine
        Write-Text "$($machine.paths.state)/$broken.json" '{"hash":"h","bo'
        $fake.ran = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal $fake.ran @('services', 'programs', 'ready' -eq $broken)
        Remove-Item -Force -LiteralPath "$($machine.paths.state)/services.json"
        $fake.ran = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal $fake.ran @($fakeNames | Where-Object { $_ -eq 'services' -or ($_ -eq $broken -and 'programs', 'ready' -notcontains $_) } | Sort-Object { [Array]::IndexOf($inOrder, $_) })
    }
}
foreach ($case in @{ word = 'reboot'; runs = 1 }, @{ word = 'again'; runs = 2 }) {
    Test "a stage that answers '$($case.word)' ends the run with 3010, and has run $($case.runs) times after the restart" {
        Reset-Fake
        $fake.reboot['features'] = 1
        $fake.word = $case.word
        $machine = New-Machine
        Assert-Equal (Invoke-Run $machine) 3010
        Assert-Equal $fake.ran @('features', 'settings', 'artifacts')
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
    $machine.stages = @($machine.stages) + (ConvertTo-Data @{ name = 'after'; scope = 'once'; exitCode = 31; hash = 'h'; fills = @(); services = @(); late = $true })
    $machine.waves = @($machine.waves) + @(, @('after', 'missing'))
    Invoke-Waves $machine (@($machine.waves)[0..5])
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
    Assert-True ($fakeNotices.told[-1] -like '*has held the lock for 7 s*')
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
    Assert-Equal (Invoke-Run (New-Machine) -FirstWave) 23
    Assert-Equal @($fake.ran -eq 'artifacts').Count 3
    Assert-Equal @($fake.ran -eq 'containerd').Count 0
}
Test 'in the foreground all runs that comes before a restart, also where logins come first' {
    Reset-Fake
    $machine = New-Machine
    $machine.waves = @(@('ccg', 'missing'), @('features', 'artifacts'), @('network', 'missing'))
    Assert-Equal (Invoke-Run $machine -FirstWave) 0
    Assert-Equal $fake.ran @('ccg', 'features', 'artifacts')
}
Test 'another fingerprint repeats a stage' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine
    $machine.stages[4].hash = 'other'
    $fake.ran = @()
    Invoke-Run $machine
    Assert-Equal $fake.ran @('network')
}
foreach ($torn in 'missing', '', 'providerID: "aws', "`0`0", 'providerID: "@PROVIDER_ID@"') {
    Test "a file that a stage has filled is filled again where it has '$torn'" {
        Reset-Fake
        $machine = New-Machine
        Invoke-Run $machine
        $file = "$($machine.folder)/config.yaml"
        $machine.stages[5].fills = @($file)
        Write-Text $machine.paths.node '{"server":"https://api:6443","name":"n","providerId":"aws:///a/i-1","address":"10.0.0.7"}'
        Write-Text "$file.template" 'providerID: "@PROVIDER_ID@"'
        Write-Text $file 'providerID: "aws:///a/i-1"'
        $fake.ran = @()
        Invoke-Run $machine
        Assert-Equal $fake.ran @()
        Write-Text $file $torn
        if ($torn -eq 'missing') { Remove-Item -LiteralPath $file }
        Invoke-Run $machine
        Assert-Equal $fake.ran @('join')
    }
}
Test 'pauses grow, stay level and differ by a fifth at most' {
    $machine = New-Machine
    for ($attempt = 0; $attempt -lt 20; $attempt += 1) {
        $base = @(10, 20, 40)[[Math]::Min($attempt, 2)]
        $pause = Get-Pause $machine $attempt
        if ($pause -lt $base -or $pause -gt $base * 1.2) { throw "pause $pause at attempt $attempt" }
    }
}
Complete-Tests
