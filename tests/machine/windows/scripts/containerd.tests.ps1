# containerd's service: new, repeated, cut off at each step, with and without a proxy.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

$fakeNode = @{}
. "$PSScriptRoot/log-fake.ps1"
function Start-Sleep { }
function Invoke-Program {
    param([string] $Path, [string[]] $Arguments)
    $call = "$Path $($Arguments -join ' ')"
    if ($fakeNode.fail -and $call -like $fakeNode.fail) { throw "made to fail: $call" }
    $fakeNode.calls += $call
    # As containerd does: a second registration is refused, and a new service starts at boot.
    if ($call -like '* --register-service *') {
        if ($fakeNode.there) { throw 'service containerd already exists' }
        $fakeNode.there = $true
        $fakeNode.start = 'Automatic'
    }
    if ($call -like '* --unregister-service') { $fakeNode.there = $false }
}
function Get-Service {
    param([string] $Name)
    if ($fakeNode.there) {
        [PSCustomObject] @{ Name = $Name; Status = 'Stopped' }
    }
}
function Set-Service {
    param([string] $Name, [string] $StartupType)
    if ($fakeNode.fail -eq 'set') { throw 'made to fail: set' }
    $fakeNode.start = $StartupType
}
function New-ItemProperty {
    param([string] $Path, [string] $Name, [string] $PropertyType, [string[]] $Value, [switch] $Force)
    $fakeNode.environment = @("$Path $Name $PropertyType") + $Value
}
function New-Case {
    param([string[]] $Environment = @())
    Set-Values $fakeNode @{ there = $false; start = ''; environment = $null; calls = @(); fail = '' }
    ConvertTo-Data @{ services = @{ containerd = @{ program = 'containerd.exe'; arguments = @('--config', 'c.toml'); recovery = @('reset=', '600', 'actions=', 'restart/5000'); environment = @($Environment) } } }
}
$registered = @(
    'containerd.exe --register-service --config c.toml'
    'sc.exe failure containerd reset= 600 actions= restart/5000'
    'sc.exe failureflag containerd 1'
)

Test 'a new node: registered, by demand, with recovery from a crash and from an error; a repeat replaces it, so that new arguments count' {
    $machine = New-Case
    & "$scripts/add-containerd.ps1" -Machine $machine
    Assert-Equal $fakeNode.calls $registered
    Assert-Equal @($fakeNode.start, $fakeNode.environment) @('Manual', $null)
    $fakeNode.calls = @()
    & "$scripts/add-containerd.ps1" -Machine $machine
    Assert-Equal $fakeNode.calls (@('containerd.exe --unregister-service') + $registered)
    Assert-Equal $fakeNode.start 'Manual'
}
Test 'a proxy is the environment of this service alone' {
    & "$scripts/add-containerd.ps1" -Machine (New-Case @('HTTPS_PROXY=http://proxy:3128', 'NO_PROXY=localhost'))
    Assert-Equal $fakeNode.environment @('HKLM:\SYSTEM\CurrentControlSet\Services\containerd Environment MultiString', 'HTTPS_PROXY=http://proxy:3128', 'NO_PROXY=localhost')
}
foreach ($step in '*--register-service*', 'set', 'sc.exe failure *', 'sc.exe failureflag *') {
    Test "cut off at '$step': a repeat ends with the whole service" {
        $machine = New-Case
        $fakeNode.fail = $step
        Assert-Throws { & "$scripts/add-containerd.ps1" -Machine $machine } 'made to fail'
        $fakeNode.fail = ''
        $fakeNode.calls = @()
        & "$scripts/add-containerd.ps1" -Machine $machine
        Assert-Equal @($fakeNode.calls | Select-Object -Last 3) $registered
        Assert-Equal @($fakeNode.there, $fakeNode.start) @($true, 'Manual')
    }
}
Complete-Tests
