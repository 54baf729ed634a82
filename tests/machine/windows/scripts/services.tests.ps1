# The services stage, and how services are held, started and brought back.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/services.ps1"

# Services by name: kind of start, state, command line.
$services = @{}
$done = @{ calls = @(); changed = @(); fail = ''; refuse = 0; pipe = $true }
. "$PSScriptRoot/log-fake.ps1"
function Add-Call {
    param(
        [string] $Call
    )
    if ($done.fail -and $Call -like $done.fail) {
        throw "made to fail: $Call"
    }
    $done.calls += $Call
}
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments
    )
    Add-Call "$Path $($Arguments -join ' ')"
}
function Get-Service {
    param(
        [string] $Name
    )
    if ($services.ContainsKey($Name)) {
        New-Object PSObject -Property @{ Name = $Name; Status = $services[$Name].status }
    }
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    Add-Call "set $Name $StartupType"
    $services[$Name].start = $StartupType
}
function Stop-Service {
    param(
        [string] $Name,
        [switch] $Force
    )
    Add-Call "stop $Name"
    $services[$Name].status = 'Stopped'
}
# No process of the machine that runs this test may be touched.
function Get-Process {
}
# As the service manager: a disabled service does not start, and one whose like is missing neither.
function Start-Service {
    param(
        [string] $Name
    )
    if ($services[$Name].start -eq 'Disabled') {
        throw "service $Name is disabled"
    }
    Add-Call "start $Name"
    $services[$Name].status = 'Running'
}
function New-Service {
    param(
        [string] $Name,
        [string] $BinaryPathName,
        [string] $DependsOn,
        [string] $StartupType
    )
    Add-Call "new $Name on $DependsOn"
    $services[$Name] = @{ start = $StartupType; status = 'Stopped'; command = $BinaryPathName }
}
function Get-CimInstance {
    param(
        [string] $ClassName,
        [string] $Filter
    )
    if ($services.ContainsKey('kubelet')) {
        @{ Name = 'kubelet' }
    }
}
function Invoke-CimMethod {
    param(
        [object] $InputObject,
        [string] $MethodName,
        [hashtable] $Arguments
    )
    if ($done.refuse -eq 0) {
        $services.kubelet.command = $Arguments.PathName
    }
    @{ ReturnValue = $done.refuse }
}
function New-Case {
    $services.Clear()
    $services.containerd = @{ start = 'Disabled'; status = 'Stopped' }
    $done.calls = @()
    $done.fail = ''
    $done.refuse = 0
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder $folder
    Set-Content -Path "$folder/pipe" -Value ''
    Set-Content -Path "$folder/node.json" -Value '{"name":"i-1","providerId":"aws:///a/i-1","address":"10.0.0.7"}'
    ConvertTo-Data @{
        paths    = @{ node = "$folder/node.json"; kubeletState = "$folder/kubelet" }
        kubelet  = @{ arguments = @('--hostname-override=@NODE_NAME@', '--node-ip=@NODE_IP@') }
        services = @{
            containerd = @{ pipe = "$folder/pipe" }
            kubelet    = @{ command = @('log-runner', 'kubelet'); recovery = @('reset=', '600', 'actions=', 'restart/5000') }
        }
    }
}

Test 'a service is held: disabled before it is stopped, so that a restart that is planned already does not bring it back' {
    New-Case | Out-Null
    $services.kubelet = @{ start = 'Manual'; status = 'Running' }
    Stop-NodeService @('kubelet', 'containerd', 'missing')
    Assert-Equal $done.calls @('set kubelet Disabled', 'stop kubelet', 'set containerd Disabled', 'stop containerd')
    Assert-Throws { Start-Service -Name kubelet } 'disabled'
}
Test 'a held service starts again by demand' {
    New-Case | Out-Null
    Start-NodeService containerd
    Assert-Equal @($services.containerd.start, $services.containerd.status) @('Manual', 'Running')
}
Test 'nothing is held for a stage that touches no service' {
    New-Case | Out-Null
    Stop-NodeService @()
    Stop-NodeService $null
    Assert-Equal $done.calls @()
}
Test 'recovery covers a process that ends without a word and one that ends with an error' {
    New-Case | Out-Null
    Set-Recovery kubelet @('reset=', '600', 'actions=', 'restart/5000')
    Assert-Equal $done.calls @('sc.exe failure kubelet reset= 600 actions= restart/5000', 'sc.exe failureflag kubelet 1')
}
Test 'a new node: containerd first, then the kubelet with this machine''s values' {
    $machine = New-Case
    & "$scripts/stage-services.ps1" -Machine $machine
    Assert-Equal $services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
    Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
    $order = @($done.calls | Where-Object { $_ -like 'start *' -or $_ -like 'new *' })
    Assert-Equal $order @('start containerd', 'new kubelet on containerd', 'start kubelet')
    Assert-Equal @($done.calls | Where-Object { $_ -like 'sc.exe *' }).Count 2
}
Test 'a repeat brings the service to the new command line and makes no second one' {
    $machine = New-Case
    & "$scripts/stage-services.ps1" -Machine $machine
    $machine.kubelet.arguments = @('--v=4')
    Stop-NodeService @('kubelet', 'containerd')
    & "$scripts/stage-services.ps1" -Machine $machine
    Assert-Equal $services.kubelet.command 'log-runner kubelet --v=4'
    Assert-Equal @($done.calls | Where-Object { $_ -like 'new *' }).Count 1
    Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
}
Test 'a service that does not change is an error with its code' {
    $machine = New-Case
    $services.kubelet = @{ start = 'Disabled'; status = 'Stopped'; command = 'old' }
    $done.refuse = 2
    Assert-Throws { & "$scripts/stage-services.ps1" -Machine $machine } 'does not change: 2'
    Assert-Equal $services.kubelet.status 'Stopped'
}
foreach ($step in 'start containerd', 'new kubelet*', 'sc.exe failure *', 'sc.exe failureflag *', 'set kubelet Manual', 'start kubelet') {
    Test "cut off at '$step': a repeat ends with both services running" {
        $machine = New-Case
        $done.fail = $step
        Assert-Throws { & "$scripts/stage-services.ps1" -Machine $machine } 'made to fail'
        $done.fail = ''
        & "$scripts/stage-services.ps1" -Machine $machine
        Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
        Assert-Equal $services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
        Assert-Equal ($done.calls -contains 'sc.exe failureflag kubelet 1') $true
    }
}
Complete-Tests
