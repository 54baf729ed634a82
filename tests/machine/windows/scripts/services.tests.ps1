# The services of a node: registered, held, started and brought back; cut off at each step, and repeated.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/services.ps1"

# As containerd does: a second registration is refused, and a new service starts at boot.
$fakeContainerd = {
    Add-Deed "containerd.exe $($args[0])"
    if ($args[0][0] -eq '--register-service') {
        if ($fakePc.services.containerd) { throw 'service containerd already exists' }
        $fakePc.services.containerd = @{ start = 'Automatic'; status = 'Stopped' }
    }
    if ($args[0][0] -eq '--unregister-service') { $fakePc.services.Remove('containerd') }
}
function New-Case {
    Reset-Pc @{ services = @{ containerd = @{ start = 'Disabled'; status = 'Stopped' } }; programs = @{ 'containerd.exe' = $fakeContainerd } }
    $machine = New-Data @'
firstImages[]
kubelet.arguments[] --hostname-override=@NODE_NAME@, --node-ip=@NODE_IP@
services.containerd.pipe FOLDER/pipe
services.containerd.arguments[] --config, c.toml
services.containerd.recovery[] reset=, 600, actions=, restart/5000
services.containerd.environment[] HTTPS_PROXY=http://proxy:3128, NO_PROXY=localhost
services.kubelet.command[] log-runner, kubelet
services.kubelet.recovery[] reset=, 600, actions=, restart/5000
'@
    Write-Text $machine.services.containerd.pipe ''
    Write-Text $machine.paths.containerdConfig 'version = 3'
    Write-Text $machine.paths.node '{"name":"i-1","providerId":"aws:///a/i-1","address":"10.0.0.7"}'
    $machine
}

Test 'a service is held: disabled before it is stopped, lest a planned restart bring it back' {
    New-Case
    $fakePc.services.kubelet = @{ start = 'Manual'; status = 'Running' }
    $fakePc.services.containerd.status = 'Running'
    Stop-NodeService @()
    Stop-NodeService $null
    Stop-NodeService @('kubelet', 'containerd', 'missing')
    Assert-Equal $fakePc.deeds @('set kubelet Disabled', 'stop kubelet', 'set containerd Disabled', 'stop containerd')
    Assert-Throws { Start-Within kubelet } 'disabled'
}
foreach ($case in 'refuses', 'stays', 'stops already') {
    Test "a service that $case is ended by its process, unless others share that" {
        New-Case
        $status = if ($case -eq 'stops already') { 'StopPending' } else { 'Running' }
        $fakePc.services.kubelet = @{ start = 'Manual'; status = $status; hangs = $case; id = 41 }
        Stop-Within kubelet
        Assert-Equal $fakePc.deeds @('stop kubelet', 'end 41')
        Assert-Equal $fakePc.services.kubelet.status 'Stopped'
        $fakePc.services.kubelet = @{ start = 'Manual'; status = $status; hangs = $case; id = 42 }
        $fakePc.services.other = @{ start = 'Manual'; status = 'Running'; id = 42 }
        $fakePc.deeds = @()
        Assert-Throws { Stop-Within kubelet } 'time out'
        Assert-Equal $fakePc.deeds @('stop kubelet')
    }
}
Test 'no second process is started beside one that does not end' {
    New-Case
    $fakePc.services.kubelet = @{ start = 'Manual'; status = 'Running'; id = 44 }
    Set-Values $fakePc @{ processes = @('kubelet'); call = 'Stop-Process'; way = 'throws' }
    Assert-Throws { Restart-NodeService kubelet } '^a process kubelet of before does not end$'
    Assert-Equal $fakePc.deeds @('stop kubelet', 'set kubelet Manual')
    Assert-True ($fakePc.time -lt 30)
}
Test 'what starts and does not run, or does not serve, is an error' {
    $machine = New-Case
    Remove-Item $machine.services.containerd.pipe
    Assert-Throws { & "$scripts/start-kubelet.ps1" -Machine $machine } 'in vain for the pipe of containerd$'
    Set-Values $fakePc @{ call = 'WaitForStatus'; way = 'throws' }
    Assert-Throws { Start-NodeService containerd } 'made to fail'
}
# A process that ends without a word, and one that ends with an error, are both recovered from.
$registered = @(
    'containerd.exe --register-service --config c.toml'
    'set containerd Manual'
    'HKLM:\SYSTEM\CurrentControlSet\Services\containerd Environment MultiString HTTPS_PROXY=http://proxy:3128 NO_PROXY=localhost'
    'sc.exe failure containerd reset= 600 actions= restart/5000'
    'sc.exe failureflag containerd 1'
)
$started = @(
    'set containerd Manual'
    'start containerd'
    'new kubelet on containerd'
    'sc.exe failure kubelet reset= 600 actions= restart/5000'
    'sc.exe failureflag kubelet 1'
    'set kubelet Manual'
    'start kubelet'
)
$ends = @{ 'add-containerd' = 'containerd Manual Stopped '; 'start-kubelet' = 'containerd Manual Running , kubelet Manual Running log-runner kubelet --hostname-override=i-1 --node-ip=10.0.0.7' }
foreach ($script in 'add-containerd', 'start-kubelet') {
    $steps = if ($script -eq 'add-containerd') { $registered } else { $started }
    Test "${script}: a repeat ends with the whole service, wherever it was cut off" {
        $new = {
            $fakePc.machine = New-Case
            if ($script -eq 'add-containerd') { $fakePc.services.Clear() }
        }
        $run = { & "$scripts/$script.ps1" -Machine $fakePc.machine }
        & $new
        & $run
        Assert-Equal $fakePc.deeds $steps
        Test-Calls $new $run {
            $fakePc.deeds = @()
            & $run
            Assert-Equal (@($fakePc.services.Keys | Sort-Object | ForEach-Object { "$_ $($fakePc.services[$_].start) $($fakePc.services[$_].status) $($fakePc.services[$_].command)" }) -join ', ') $ends[$script]
            if ($args[0]) { Assert-Equal @($steps | Where-Object { $_ -notlike 'new *' -and $_ -notlike 'start *' -and $fakePc.deeds -notcontains $_ }) @() }
        }
    }
}
Test 'containerd''s configuration that is torn is back before containerd starts, at a boot and by the health task' {
    $machine = New-Case
    & "$scripts/start-kubelet.ps1" -Machine $machine
    foreach ($start in { & "$scripts/start-kubelet.ps1" -Machine $machine }, { Repair-Service $machine @{} 'containerd' }) {
        [IO.File]::WriteAllText($machine.paths.containerdConfig, "`0`0")
        Stop-NodeService @('containerd')
        $fakePc.onStart = { if ($args[0] -eq 'containerd') { Assert-Equal (Read-Text $machine.paths.containerdConfig) 'version = 3' } }
        & $start
        Assert-Equal $fakePc.services.containerd.status 'Running'
    }
    # An empty one would be taken for the defaults.
    foreach ($path in $machine.paths.containerdConfig, "$($machine.paths.containerdConfig).template") { [IO.File]::WriteAllText($path, "`0") }
    Restore-Config $machine
    Assert-Equal ([IO.File]::ReadAllText($machine.paths.containerdConfig)) "`0"
}
Test 'a repeat brings new arguments; without a proxy there is no environment' {
    $machine = New-Case
    $machine.services.containerd.environment = @()
    & "$scripts/add-containerd.ps1" -Machine $machine
    Assert-Equal $fakePc.deeds (@('containerd.exe --unregister-service') + ($registered -notlike 'HKLM*'))
    & "$scripts/start-kubelet.ps1" -Machine $machine
    $machine.kubelet.arguments = @('--v=4')
    Stop-NodeService @('kubelet', 'containerd')
    & "$scripts/start-kubelet.ps1" -Machine $machine
    Assert-Equal @($fakePc.services.kubelet.command, @($fakePc.deeds -like 'new *').Count) @('log-runner kubelet --v=4', 1)
    $fakePc.refuses = 2
    $fakePc.services.kubelet.status = 'Stopped'
    Assert-Throws { & "$scripts/start-kubelet.ps1" -Machine $machine } 'does not change: 2'
    Assert-Equal $fakePc.services.kubelet.status 'Stopped'
}
Complete-Tests
