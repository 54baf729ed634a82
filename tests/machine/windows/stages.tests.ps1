# The stage machine over its faults: each stage fails, is cut off, is repeated; a reboot between any two.
. "$PSScriptRoot/harness.ps1"
foreach ($name in 'lib.ps1', 'stage.ps1', 'run.ps1') {
    Copy-Item -LiteralPath "$scripts/$name" -Destination $temp
}
. "$temp/lib.ps1"
. "$temp/stage.ps1"
. "$temp/run.ps1"

$names = 'os', 'artifacts', 'containerd', 'network', 'join', 'services', 'ready'

# A machine whose stages only write down that they ran, in a folder of its own.
function New-Machine {
    param(
        [string] $Hash = 'h'
    )
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/state"
    $stages = foreach ($name in $names) {
        $scope = 'once'
        if ('network', 'join', 'services' -contains $name) {
            $scope = 'boot'
        }
        @{ name = $name; scope = $scope; exitCode = 21 + [Array]::IndexOf($names, $name); hash = $Hash; fills = @() }
    }
    ConvertTo-Data @{
        folder    = $folder
        paths     = @{ state = "$folder/state"; logs = "$folder/logs" }
        stages    = @($stages)
        waves     = @(@('os', 'artifacts'), @('containerd', 'network'), @('join', 'missing'), @('services', 'missing'), @('ready', 'missing'))
        reboots   = @{ allowed = 2 }
        retry     = @{ pauseSeconds = @(10, 20, 40); jitter = 0.2; foregroundAttempts = 3 }
        exitCodes = @{ rebootLoop = 20 }
    }
}

# What the fakes do in this test: stages that fail (name to times), stages that want a reboot, and what ran.
$fake = @{ fail = @{}; reboot = @{}; ran = @(); boot = 'boot-1'; slept = @() }
function Reset-Fake {
    $fake.fail = @{}
    $fake.reboot = @{}
    $fake.ran = @()
    $fake.slept = @()
    $fake.boot = 'boot-1'
}
foreach ($name in $names) {
    Set-Content -Path "$temp/stage-$name.ps1" -Value @(
        'param([object] $Machine)'
        "`$fake.ran += '$name'"
        "if (`$fake.fail['$name'] -gt 0) { `$fake.fail['$name'] -= 1; throw 'made to fail' }"
        "if (`$fake.reboot['$name'] -gt 0) { `$fake.reboot['$name'] -= 1; return 'reboot' }"
    )
}
function Write-Log {
    param(
        [string] $Message
    )
}
function Write-Notice {
    param(
        [string] $Message,
        [string] $Kind
    )
}
function Start-Sleep {
    param(
        [double] $Seconds
    )
    $fake.slept += $Seconds
}

# In place of processes: the stages of a wave one after the other.
function Invoke-Wave {
    param(
        [object] $Machine,
        [string[]] $Names
    )
    if ($fake.fail['wave'] -gt 0) {
        $fake.fail['wave'] -= 1
        throw 'no process could be started'
    }
    $codes = @{}
    foreach ($name in $Names) {
        if ($name -eq 'missing') {
            continue
        }
        $stage = $Machine.stages | Where-Object { $_.name -eq $name }
        $codes[$name] = Invoke-Stage $Machine $stage $fake.boot
    }
    foreach ($name in @($Names | Where-Object { $_ -eq 'missing' })) {
        $codes[$name] = 0
    }
    $codes
}

Test 'a first run without faults runs each stage once, in order' {
    Reset-Fake
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.ran $names
}
Test 'a second run in the same boot does nothing' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine | Out-Null
    $fake.ran = @()
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal $fake.ran @()
}
Test 'the next boot makes again what Windows forgets, and nothing else' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine | Out-Null
    $fake.ran = @()
    $fake.boot = 'boot-2'
    Invoke-Run $machine | Out-Null
    Assert-Equal $fake.ran @('network', 'join', 'services')
}
Test 'an error outside of every stage does not end the run' {
    Reset-Fake
    $fake.fail['wave'] = 2
    Assert-Equal (Invoke-Run (New-Machine)) 0
    Assert-Equal $fake.ran $names
    Assert-Equal $fake.slept.Count 2
}
foreach ($broken in $names) {
    Test "stage $broken fails once: it ends with its own code, is repeated, and nothing that was done is" {
        Reset-Fake
        $fake.fail[$broken] = 1
        $machine = New-Machine
        $stage = $machine.stages | Where-Object { $_.name -eq $broken }
        Assert-Equal (Invoke-Stage $machine $stage $fake.boot) $stage.exitCode
        $fake.ran = @()
        $fake.fail[$broken] = 1
        Assert-Equal (Invoke-Run $machine) 0
        foreach ($name in $names) {
            $times = @($fake.ran | Where-Object { $_ -eq $name }).Count
            $expected = 1
            if ($name -eq $broken) {
                $expected = 2
            }
            Assert-Equal $times $expected
        }
        Assert-Equal $fake.slept.Count 1
    }
    Test "stage $broken is cut off while its state is written: it runs again" {
        Reset-Fake
        $machine = New-Machine
        Invoke-Run $machine | Out-Null
        Set-Content -Path "$($machine.paths.state)/$broken.json" -Value '{"hash":"h","bo'
        $fake.ran = @()
        Assert-Equal (Invoke-Run $machine) 0
        Assert-Equal $fake.ran @($broken)
    }
    Test "a reboot behind stage $broken loses nothing" {
        Reset-Fake
        $machine = New-Machine
        $fake.fail[$broken] = 0
        foreach ($name in $names) {
            $stage = $machine.stages | Where-Object { $_.name -eq $name }
            Invoke-Stage $machine $stage $fake.boot | Out-Null
            if ($name -eq $broken) {
                break
            }
        }
        $fake.boot = 'boot-2'
        Assert-Equal (Invoke-Run $machine) 0
        $once = @($fake.ran | Where-Object { 'network', 'join', 'services' -notcontains $_ })
        Assert-Equal ($once | Sort-Object) ('os', 'artifacts', 'containerd', 'ready' | Sort-Object)
    }
}
Test 'a stage that wants a reboot is not done, and the run ends with 3010' {
    Reset-Fake
    $fake.reboot['os'] = 1
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine) 3010
    Assert-Equal $fake.ran @('os', 'artifacts')
    $fake.boot = 'boot-2'
    Assert-Equal (Invoke-Run $machine) 0
    Assert-Equal @($fake.ran | Where-Object { $_ -eq 'artifacts' }).Count 1
}
Test 'a stage that wants reboots for ever is an error after those allowed' {
    Reset-Fake
    $fake.reboot['os'] = 99
    $machine = New-Machine
    Assert-Equal (Invoke-Run $machine -FirstWave) 3010
    Assert-Equal (Invoke-Run $machine -FirstWave) 3010
    Assert-Equal (Invoke-Run $machine -FirstWave) 20
}
Test 'in the foreground a wave that fails is tried three times and its code reported' {
    Reset-Fake
    $fake.fail['artifacts'] = 99
    Assert-Equal (Invoke-Run (New-Machine) -FirstWave) 22
    Assert-Equal @($fake.ran | Where-Object { $_ -eq 'artifacts' }).Count 3
    Assert-Equal @($fake.ran | Where-Object { $_ -eq 'containerd' }).Count 0
}
Test 'another fingerprint repeats a stage' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine | Out-Null
    $machine.stages[3].hash = 'other'
    $fake.ran = @()
    Invoke-Run $machine | Out-Null
    Assert-Equal $fake.ran @('network')
}
Test 'a placeholder that is back in a file repeats the stage that fills it' {
    Reset-Fake
    $machine = New-Machine
    Invoke-Run $machine | Out-Null
    $file = "$($machine.folder)/config.yaml"
    $machine.stages[4].fills = @($file)
    Set-Content -Path $file -Value 'providerID: aws:///a/i-1'
    $fake.ran = @()
    Invoke-Run $machine | Out-Null
    Assert-Equal $fake.ran @()
    Set-Content -Path $file -Value 'providerID: "@PROVIDER_ID@"'
    Invoke-Run $machine | Out-Null
    Assert-Equal $fake.ran @('join')
}
Test 'pauses grow, stay level and differ by a fifth at most' {
    $machine = New-Machine
    for ($attempt = 0; $attempt -lt 20; $attempt += 1) {
        $base = @(10, 20, 40)[[Math]::Min($attempt, 2)]
        $pause = Get-Pause $machine $attempt
        if ($pause -lt $base -or $pause -gt $base * 1.2) {
            throw "pause $pause at attempt $attempt"
        }
    }
}
Complete-Tests
