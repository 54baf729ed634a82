# The services stage, and how services are held, started and brought back.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/services.ps1"

. "$PSScriptRoot/node-fakes.ps1"
function Invoke-Program {
    param([string] $Path, [string[]] $Arguments)
    Add-Deed "$Path $($Arguments -join ' ')"
}
function New-Service {
    param([string] $Name, [string] $BinaryPathName, [string] $DependsOn, [string] $StartupType)
    Add-Deed "new $Name on $DependsOn"
    $fakeNode.services[$Name] = @{ start = $StartupType; status = 'Stopped'; command = $BinaryPathName }
}
function Invoke-CimMethod {
    param($InputObject, [string] $MethodName, [hashtable] $Arguments)
    if ($fakeNode.refuse -eq 0) { $fakeNode.services.kubelet.command = $Arguments.PathName }
    @{ ReturnValue = $fakeNode.refuse }
}
function New-Case {
    Reset-Node
    Set-Values $fakeNode @{ processes = @(); refuse = 0 }
    $fakeNode.services.Clear()
    $fakeNode.services.containerd = @{ start = 'Disabled'; status = 'Stopped' }
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder $folder
    Write-Text "$folder/pipe" ''
    Write-Text "$folder/node.json" '{"name":"i-1","providerId":"aws:///a/i-1","address":"10.0.0.7"}'
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
    New-Case
    $fakeNode.services.kubelet = @{ start = 'Manual'; status = 'Running' }
    $fakeNode.services.containerd.status = 'Running'
    Stop-NodeService @()
    Stop-NodeService $null
    Stop-NodeService @('kubelet', 'containerd', 'missing')
    Assert-Equal $fakeNode.deeds @('set kubelet Disabled', 'stop kubelet', 'set containerd Disabled', 'stop containerd')
    Assert-Throws { Start-Within kubelet } 'disabled'
}
foreach ($case in 'refuses', 'stays') {
    Test "a service that $case when it is asked to stop is ended by its process, and a process that others share is not" {
        New-Case
        $fakeNode.services.kubelet = @{ start = 'Manual'; status = 'Running'; hangs = $case; id = 41 }
        Stop-Within kubelet
        Assert-Equal $fakeNode.deeds @('stop kubelet', 'end 41')
        Assert-Equal $fakeNode.services.kubelet.status 'Stopped'
        $fakeNode.services.kubelet = @{ start = 'Manual'; status = 'Running'; hangs = $case; id = 42 }
        $fakeNode.services.other = @{ start = 'Manual'; status = 'Running'; id = 42 }
        $fakeNode.deeds = @()
        Assert-Throws { Stop-Within kubelet } 'time out'
        Assert-Equal $fakeNode.deeds @('stop kubelet')
    }
}
Test 'no second process is started beside one that does not end' {
    New-Case
    $fakeNode.services.kubelet = @{ start = 'Manual'; status = 'Running'; id = 44 }
    Set-Values $fakeNode @{ processes = @('kubelet'); call = 'Stop-Process'; way = 'throws' }
    Assert-Throws { Restart-NodeService kubelet } '^a process kubelet of before does not end$'
    Assert-Equal $fakeNode.deeds @('stop kubelet', 'set kubelet Manual')
}
Test 'HNS that hangs is started again; its file goes only where that is asked for' {
    $env:ProgramData = $temp
    foreach ($empty in $false, $true) {
        New-Case
        New-Folder "$temp/Microsoft/Windows/HNS"
        Write-Text "$temp/Microsoft/Windows/HNS/HNS.data" 'state'
        $fakeNode.services.hns = @{ start = 'Automatic'; status = 'Running'; hangs = 'stays'; id = 43 }
        Restart-Hns -Empty:$empty
        Assert-Equal $fakeNode.deeds @('stop hns', 'end 43', 'start hns')
        Assert-Equal (Test-Path -LiteralPath "$temp/Microsoft/Windows/HNS/HNS.data") (-not $empty)
    }
}
Test 'a service that WMI knows nothing of is told to stop all the same, and one that is stopped takes its child along' {
    foreach ($way in 'throws', 'nothing', 'empty') {
        Reset-Node
        Set-Values $fakeNode @{ call = 'Get-CimInstance'; way = $way }
        $fakeNode.services.hns.hangs = 'stays'
        Assert-Throws { Stop-Within hns } 'time out'
        $fakeNode.services.kubelet.status = 'Stopped'
        Stop-NodeService kubelet
        Assert-Equal $fakeNode.deeds @('stop hns', 'set kubelet Disabled', 'end kubelet')
    }
}
Test 'a held service starts again by demand' {
    New-Case
    Start-NodeService containerd
    Assert-Equal @($fakeNode.services.containerd.start, $fakeNode.services.containerd.status) @('Manual', 'Running')
}
Test 'a new node: containerd first, then the kubelet with this machine''s values' {
    $machine = New-Case
    & "$scripts/start-kubelet.ps1" -Machine $machine
    Assert-Equal $fakeNode.services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
    Assert-Equal @($fakeNode.services.containerd.status, $fakeNode.services.kubelet.status) @('Running', 'Running')
    $order = @($fakeNode.deeds | Where-Object { $_ -like 'start *' -or $_ -like 'new *' })
    Assert-Equal $order @('start containerd', 'new kubelet on containerd', 'start kubelet')
    # A process that ends without a word, and one that ends with an error.
    Assert-Equal @($fakeNode.deeds -like 'sc.exe *') @('sc.exe failure kubelet reset= 600 actions= restart/5000', 'sc.exe failureflag kubelet 1')
}
Test 'a repeat brings the service to the new command line and makes no second one' {
    $machine = New-Case
    & "$scripts/start-kubelet.ps1" -Machine $machine
    $machine.kubelet.arguments = @('--v=4')
    Stop-NodeService @('kubelet', 'containerd')
    & "$scripts/start-kubelet.ps1" -Machine $machine
    Assert-Equal $fakeNode.services.kubelet.command 'log-runner kubelet --v=4'
    Assert-Equal @($fakeNode.deeds -like 'new *').Count 1
    Assert-Equal @($fakeNode.services.containerd.status, $fakeNode.services.kubelet.status) @('Running', 'Running')
}
Test 'a service that does not change is an error with its code' {
    $machine = New-Case
    $fakeNode.services.kubelet = @{ start = 'Disabled'; status = 'Stopped'; command = 'old' }
    $fakeNode.refuse = 2
    Assert-Throws { & "$scripts/start-kubelet.ps1" -Machine $machine } 'does not change: 2'
    Assert-Equal $fakeNode.services.kubelet.status 'Stopped'
}
foreach ($step in 'start containerd', 'new kubelet*', 'sc.exe failure *', 'sc.exe failureflag *', 'set kubelet Manual', 'start kubelet') {
    Test "cut off at '$step': a repeat ends with both services running" {
        $machine = New-Case
        $fakeNode.fail = $step
        Assert-Throws { & "$scripts/start-kubelet.ps1" -Machine $machine } 'made to fail'
        $fakeNode.fail = ''
        & "$scripts/start-kubelet.ps1" -Machine $machine
        Assert-Equal @($fakeNode.services.containerd.status, $fakeNode.services.kubelet.status) @('Running', 'Running')
        Assert-Equal $fakeNode.services.kubelet.command 'log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7'
        Assert-True ($fakeNode.deeds -contains 'sc.exe failureflag kubelet 1')
    }
}
Complete-Tests
