# containerd's service: new, repeated, cut off at each step, with and without a proxy.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

$node = @{ there = $false; start = ''; environment = $null; calls = @(); fail = '' }
. "$PSScriptRoot/log-fake.ps1"
function Start-Sleep {
}
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments
    )
    $call = "$Path $($Arguments -join ' ')"
    if ($node.fail -and $call -like $node.fail) {
        throw "made to fail: $call"
    }
    $node.calls += $call
    # As containerd does: a second registration is refused, and a new service starts at boot.
    if ($call -like '* --register-service *') {
        if ($node.there) {
            throw 'service containerd already exists'
        }
        $node.there = $true
        $node.start = 'Automatic'
    }
    if ($call -like '* --unregister-service') {
        $node.there = $false
    }
}
function Get-Service {
    param(
        [string] $Name
    )
    if ($node.there) {
        New-Object PSObject -Property @{ Name = $Name; Status = 'Stopped' }
    }
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    if ($node.fail -eq 'set') {
        throw 'made to fail: set'
    }
    $node.start = $StartupType
}
function New-ItemProperty {
    param(
        [string] $Path,
        [string] $Name,
        [string] $PropertyType,
        [string[]] $Value,
        [switch] $Force
    )
    $node.environment = @("$Path $Name $PropertyType") + $Value
}
function New-Case {
    param(
        [string[]] $Environment = @()
    )
    $node.there = $false
    $node.start = ''
    $node.environment = $null
    $node.calls = @()
    $node.fail = ''
    ConvertTo-Data @{ services = @{ containerd = @{ program = 'containerd.exe'; arguments = @('--config', 'c.toml'); recovery = @('reset=', '600', 'actions=', 'restart/5000'); environment = @($Environment) } } }
}
$registered = @(
    'containerd.exe --register-service --config c.toml'
    'sc.exe failure containerd reset= 600 actions= restart/5000'
    'sc.exe failureflag containerd 1'
)

Test 'a new node: registered, by demand, with recovery from a crash and from an error' {
    & "$scripts/stage-containerd.ps1" -Machine (New-Case)
    Assert-Equal $node.calls $registered
    Assert-Equal $node.start 'Manual'
    Assert-Equal $node.environment $null
}
Test 'a repeat replaces the service, so that new arguments count' {
    $machine = New-Case
    & "$scripts/stage-containerd.ps1" -Machine $machine
    $node.calls = @()
    & "$scripts/stage-containerd.ps1" -Machine $machine
    Assert-Equal $node.calls (@('containerd.exe --unregister-service') + $registered)
    Assert-Equal $node.start 'Manual'
}
Test 'a proxy is the environment of this service alone' {
    & "$scripts/stage-containerd.ps1" -Machine (New-Case @('HTTPS_PROXY=http://proxy:3128', 'NO_PROXY=localhost'))
    Assert-Equal $node.environment @('HKLM:\SYSTEM\CurrentControlSet\Services\containerd Environment MultiString', 'HTTPS_PROXY=http://proxy:3128', 'NO_PROXY=localhost')
}
foreach ($step in '*--register-service*', 'set', 'sc.exe failure *', 'sc.exe failureflag *') {
    Test "cut off at '$step': a repeat ends with the whole service" {
        $machine = New-Case
        $node.fail = $step
        Assert-Throws { & "$scripts/stage-containerd.ps1" -Machine $machine } 'made to fail'
        $node.fail = ''
        $node.calls = @()
        & "$scripts/stage-containerd.ps1" -Machine $machine
        Assert-Equal @($node.calls | Select-Object -Last 3) $registered
        Assert-Equal @($node.there, $node.start) @($true, 'Manual')
    }
}
Complete-Tests
