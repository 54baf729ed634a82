# The services stage, and how services are held, started and brought back.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/services.ps1"

# Services by name: kind of start, state, command line.
$services = @{}
$fakeDone = @{}
. "$PSScriptRoot/log-fake.ps1"
function Add-Call {
    param([string] $Call)
    if ($fakeDone.fail -and $Call -like $fakeDone.fail) { throw "made to fail: $Call" }
    $fakeDone.calls += $Call
}
function Invoke-Program {
    param([string] $Path, [string[]] $Arguments)
    Add-Call "$Path $($Arguments -join ' ')"
}
# As the service manager: a disabled service does not start. One may ignore the request to stop, or go on stopping,
# until its process is ended.
function Get-Service {
    param([string] $Name)
    if (-not $services.ContainsKey($Name)) { return }
    $service = New-Object PSObject -Property @{ Name = $Name }
    $service | Add-Member -MemberType ScriptProperty -Name Status -Value { $services[$this.Name].status }
    $service | Add-Member -MemberType ScriptMethod -Name Stop -Value {
        Add-Call "stop $($this.Name)"
        if ($services[$this.Name].hangs -eq 'refuses') {
            throw 'the service does not accept control messages at this time'
        }
        $services[$this.Name].status = 'StopPending'
        if (-not $services[$this.Name].hangs) { $services[$this.Name].status = 'Stopped' }
    }
    $service | Add-Member -MemberType ScriptMethod -Name Start -Value {
        if ($services[$this.Name].start -eq 'Disabled') { throw "service $($this.Name) is disabled" }
        Add-Call "start $($this.Name)"
        $services[$this.Name].status = 'Running'
    }
    $service | Add-Member -MemberType ScriptMethod -Name WaitForStatus -Value {
        if ($services[$this.Name].status -ne $args[0]) {
            throw "time out: $($this.Name) is $($services[$this.Name].status)"
        }
    }
    $service
}
function Stop-Process {
    param([Parameter(ValueFromPipeline = $true)] [object] $InputObject, [int] $Id, [switch] $Force)
    process {
        Add-Call "end $Id$($InputObject.Name)"
        foreach ($name in @($services.Keys)) {
            if ($services[$name].id -eq $Id) { $services[$name].status = 'Stopped' }
        }
    }
}
function Set-Service {
    param([string] $Name, [string] $StartupType)
    Add-Call "set $Name $StartupType"
    $services[$Name].start = $StartupType
}
# No process of the machine that runs this test may be touched.
function Get-Process { }
function New-Service {
    param([string] $Name, [string] $BinaryPathName, [string] $DependsOn, [string] $StartupType)
    Add-Call "new $Name on $DependsOn"
    $services[$Name] = @{ start = $StartupType; status = 'Stopped'; command = $BinaryPathName }
}
function Get-CimInstance {
    param([string] $ClassName, [string] $Filter)
    foreach ($name in @($services.Keys)) {
        if ("Name='$name'", "ProcessId=$($services[$name].id)" -contains $Filter) {
            @{ Name = $name; ProcessId = $services[$name].id }
        }
    }
}
function Invoke-CimMethod {
    param([object] $InputObject, [string] $MethodName, [hashtable] $Arguments)
    if ($fakeDone.refuse -eq 0) { $services.kubelet.command = $Arguments.PathName }
    @{ ReturnValue = $fakeDone.refuse }
}
function New-Case {
    $services.Clear()
    $services.containerd = @{ start = 'Disabled'; status = 'Stopped' }
    Set-Values $fakeDone @{ calls = @(); fail = ''; refuse = 0 }
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
    $services.containerd.status = 'Running'
    Stop-NodeService @()
    Stop-NodeService $null
    Stop-NodeService @('kubelet', 'containerd', 'missing')
    Assert-Equal $fakeDone.calls @('set kubelet Disabled', 'stop kubelet', 'set containerd Disabled', 'stop containerd')
    Assert-Throws { Start-Within kubelet } 'disabled'
}
foreach ($case in 'refuses', 'stays') {
    Test "a service that $case when it is asked to stop is ended by its process, and a process that others share is not" {
        New-Case | Out-Null
        $services.kubelet = @{ start = 'Manual'; status = 'Running'; hangs = $case; id = 41 }
        Stop-Within kubelet
        Assert-Equal $fakeDone.calls @('stop kubelet', 'end 41')
        Assert-Equal $services.kubelet.status 'Stopped'
        $services.kubelet = @{ start = 'Manual'; status = 'Running'; hangs = $case; id = 42 }
        $services.other = @{ start = 'Manual'; status = 'Running'; id = 42 }
        $fakeDone.calls = @()
        Assert-Throws { Stop-Within kubelet } 'time out'
        Assert-Equal $fakeDone.calls @('stop kubelet')
    }
}
Test 'HNS that hangs is started again; its file goes only where that is asked for' {
    $env:ProgramData = $temp
    foreach ($empty in $false, $true) {
        New-Case | Out-Null
        New-Folder "$temp/Microsoft/Windows/HNS"
        Set-Content -Path "$temp/Microsoft/Windows/HNS/HNS.data" -Value 'state'
        $services.hns = @{ start = 'Automatic'; status = 'Running'; hangs = 'stays'; id = 43 }
        Restart-Hns -Empty:$empty
        Assert-Equal $fakeDone.calls @('stop hns', 'end 43', 'start hns')
        Assert-Equal (Test-Path -LiteralPath "$temp/Microsoft/Windows/HNS/HNS.data") (-not $empty)
    }
}
Test 'a held service starts again by demand' {
    New-Case | Out-Null
    Start-NodeService containerd
    Assert-Equal @($services.containerd.start, $services.containerd.status) @('Manual', 'Running')
}
Test 'a new node: containerd first, then the kubelet with this machine''s values' {
    $machine = New-Case
    & "$scripts/stage-services.ps1" -Machine $machine
    Assert-Equal $services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
    Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
    $order = @($fakeDone.calls | Where-Object { $_ -like 'start *' -or $_ -like 'new *' })
    Assert-Equal $order @('start containerd', 'new kubelet on containerd', 'start kubelet')
    # A process that ends without a word, and one that ends with an error.
    Assert-Equal @($fakeDone.calls | Where-Object { $_ -like 'sc.exe *' }) @('sc.exe failure kubelet reset= 600 actions= restart/5000', 'sc.exe failureflag kubelet 1')
}
Test 'a repeat brings the service to the new command line and makes no second one' {
    $machine = New-Case
    & "$scripts/stage-services.ps1" -Machine $machine
    $machine.kubelet.arguments = @('--v=4')
    Stop-NodeService @('kubelet', 'containerd')
    & "$scripts/stage-services.ps1" -Machine $machine
    Assert-Equal $services.kubelet.command 'log-runner kubelet --v=4'
    Assert-Equal @($fakeDone.calls | Where-Object { $_ -like 'new *' }).Count 1
    Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
}
Test 'a service that does not change is an error with its code' {
    $machine = New-Case
    $services.kubelet = @{ start = 'Disabled'; status = 'Stopped'; command = 'old' }
    $fakeDone.refuse = 2
    Assert-Throws { & "$scripts/stage-services.ps1" -Machine $machine } 'does not change: 2'
    Assert-Equal $services.kubelet.status 'Stopped'
}
foreach ($step in 'start containerd', 'new kubelet*', 'sc.exe failure *', 'sc.exe failureflag *', 'set kubelet Manual', 'start kubelet') {
    Test "cut off at '$step': a repeat ends with both services running" {
        $machine = New-Case
        $fakeDone.fail = $step
        Assert-Throws { & "$scripts/stage-services.ps1" -Machine $machine } 'made to fail'
        $fakeDone.fail = ''
        & "$scripts/stage-services.ps1" -Machine $machine
        Assert-Equal @($services.containerd.status, $services.kubelet.status) @('Running', 'Running')
        Assert-Equal $services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
        Assert-Equal ($fakeDone.calls -contains 'sc.exe failureflag kubelet 1') $true
    }
}
Complete-Tests
