# The operating system's stage: features and the reboot, settings, and faults that must not cost a node.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/services.ps1"

function Reset-System {
    param($Values = @{})
    Remove-Item -Force "$($machine.folder)/reboots" -ErrorAction SilentlyContinue
    Reset-Pc @{
        features = @{ Containers = 'Available' }; services = @{ wuauserv = @{}; UsoSvc = @{}; w32time = @{} }; ports = @(); excluded = @(); sizes = @(); resized = 0
        words    = @{ 'netsh.exe' = 2 }
        cim      = @{ Win32_ComputerSystem = [PSCustomObject] @{ AutomaticManagedPagefile = $true } }
        programs = @{ 'netsh.exe' = {
            Add-Deed "netsh.exe $($args[0])"
            if ($args[0][2] -eq 'show') { return @('Start Port    End Port') + $fakePc.ports }
            if ($args[0][2] -eq 'add') { $fakePc.ports += "     $($args[0][5])       $($args[0][5])     *" }
        } }
    }
    foreach ($service in $fakePc.services.Values) { $service.status = 'Stopped' }
    $fakePc.services.UsoSvc.status = 'Running'
    Set-Values $fakePc $Values
}
function Add-MpPreference {
    param($ExclusionProcess, $ExclusionPath)
    $fakePc.excluded += $ExclusionProcess + $ExclusionPath
}
function Get-PartitionSupportedSize { Invoke-Call 'partition' { @{ SizeMax = 107374182400 } } }
function Get-Partition { @{ Size = 32212254720 } }
function Resize-Partition {
    param($DriveLetter, $Size)
    $fakePc.resized = $Size
}
function New-CimInstance {
    param($ClassName, $Property)
    $fakePc.cim[$ClassName] = [PSCustomObject] $Property
    $fakePc.cim[$ClassName]
}
function Set-CimInstance {
    param($InputObject, $Property)
    if ($Property.ContainsKey('AutomaticManagedPagefile')) { $InputObject.AutomaticManagedPagefile = $Property.AutomaticManagedPagefile }
    else { $fakePc.sizes = @($Property.InitialSize, $Property.MaximumSize) }
}
$machine = New-Data @'
paths.state FOLDER
paths.repairs FOLDER/repairs.json
os.features[] Containers
os.name windows-2022
os.registry [{"path":"HKLM:\\SOFTWARE\\x","type":"DWord","values":{"NoAutoUpdate":1},"reboot":false},{"path":"HKLM:\\SYSTEM\\hns","type":"DWord","values":{"Compartments":1},"reboot":true}]
os.servicesOff[] wuauserv, UsoSvc
os.dynamicPorts {"start":32768,"count":32768}
os.excludedUdpPorts[] 65330
os.clock [["/config","/update"]]
os.defender.processes[] kubelet.exe
os.defender.paths[] C:\fenestra\bin
os.pagefile {"initialMb":4096,"maximumMb":6144}
'@

# Both stages, which on a machine run side by side.
function Invoke-Both {
    param($OfTest)
    & "$scripts/install-features.ps1" -Machine $OfTest
    & "$scripts/apply-settings.ps1" -Machine $OfTest
}
ConvertTo-Json -Depth 5 @{ 'windows-2022' = @(@{ path = 'HKLM:\SYSTEM\y'; type = 'DWord'; values = @{ '1114842764' = 0 }; reboot = $true }); 'windows-2019' = @(@{ path = 'HKLM:\SYSTEM\z'; type = 'DWord'; values = @{ other = 1 }; reboot = $true }) } | Set-Content -Path $machine.paths.repairs

Test 'a stock image: feature and settings, and one reboot' {
    Reset-System
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    Assert-Equal $fakePc.told @()
    Assert-Equal $fakePc.deeds @(
        'install Containers'
        'set wuauserv Disabled'
        'set UsoSvc Disabled'
        'stop UsoSvc'
        'HKLM:\SYSTEM\hns Compartments DWord 1'
        'HKLM:\SYSTEM\y 1114842764 DWord 0'
        'HKLM:\SOFTWARE\x NoAutoUpdate DWord 1'
        'netsh.exe int ipv4 set dynamicport tcp start=32768 num=32768'
        'netsh.exe int ipv4 set dynamicport udp start=32768 num=32768'
        'netsh.exe int ipv4 show excludedportrange udp'
        'netsh.exe int ipv4 add excludedportrange udp 65330 1 persistent'
        'set w32time Automatic'
        'sc.exe triggerinfo w32time delete'
        'start w32time'
        'w32tm.exe /config /update'
    )
    Assert-Equal $fakePc.excluded @('kubelet.exe', 'C:\fenestra\bin')
    Assert-Equal @($fakePc.cim.Win32_ComputerSystem.AutomaticManagedPagefile, $fakePc.cim.Win32_PageFileSetting.Name, $fakePc.sizes[0], $fakePc.sizes[1]) @($false, 'C:\pagefile.sys', 4096, 6144)
    Assert-Equal @($fakePc.resized, (Test-Path $machine.paths.dumps)) @(107374182400, $true)
}
Test 'a list of fixes without those of this system leaves none out: the stage fails' {
    Reset-System
    $kept = Get-Content -Raw $machine.paths.repairs
    Set-Content -NoNewline $machine.paths.repairs -Value '{}'
    try {
        Assert-Throws { & "$scripts/install-features.ps1" -Machine $machine } 'repairs\.json'
        Assert-Equal $fakePc.deeds @()
    }
    finally {
        Set-Content -NoNewline $machine.paths.repairs -Value $kept
    }
}
Test 'after the reboot nothing is installed or asked for again' {
    Reset-System
    Invoke-Both $machine
    # An attempt that is repeated for another stage.
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    $fakePc.features.Containers = 'Installed'
    Assert-Equal @(Invoke-Both $machine) @()
    foreach ($once in 'install *', '* add *') { Assert-Equal @($fakePc.deeds -like $once).Count 1 }
}
Test 'an image with the feature needs one reboot for repairs, which drivers read' {
    Reset-System
    $fakePc.features.Containers = 'Installed'
    $fakePc.registry = @{ 'SYSTEM\y' = @{ '1114842764' = 0 }; 'SYSTEM\hns' = @{ Compartments = 1 } }
    Assert-Equal @(Invoke-Both $machine) @()
    $fakePc.registry = @{}
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    # A policy of the domain takes it back at each start.
    $fakePc.registry['SYSTEM\y']['1114842764'] = 1
    Write-Text "$($machine.folder)/reboots" '1'
    Assert-Equal @(Invoke-Both $machine) @()
}
Test 'a feature that does not install is an error, before updates are off' {
    Reset-System
    $fakePc.refuses = $true
    Assert-Throws { Invoke-Both $machine } 'features not installed: Failed'
    Assert-Equal @($fakePc.deeds -like 'set *') @()
}
foreach ($case in Read-Table @'
fail|told
netsh.exe show|UDP port 65330 left out
w32tm.exe *|clock
registry 1114842764|registry value 1114842764 below HKLM:\SYSTEM\y
partition|size of the system drive
netsh.exe *|tcp ports of connections, udp ports of connections, UDP port 65330 left out
'@) {
    Test "what fails at '$($case.fail)' is told, and the rest is set" {
        Reset-System @{ call = $case.fail; way = 'made to fail' }
        Assert-Equal @(Invoke-Both $machine) @('reboot')
        Assert-Equal $fakePc.told @("settings not made, the node goes on without: $($case.told)")
        Assert-Equal @($fakePc.sizes[0], @('start w32time', 'install Containers' | Where-Object { $fakePc.deeds -contains $_ }).Count) @(4096, 2)
    }
}
Test 'a feature missing beside one that waits for a restart is installed after it' {
    Reset-System
    $machine.os.features = @('Containers', 'Hyper-V')
    $fakePc.features = @{ Containers = 'InstallPending'; 'Hyper-V' = 'Available' }
    Assert-Equal @(Invoke-Both $machine) @('again')
    # What is still missing may come by way of them.
    Assert-Equal @($fakePc.deeds -like 'set * Disabled') @()
    $fakePc.features.Containers = 'Installed'
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    Assert-Equal @($fakePc.deeds -like 'install *') @('install Hyper-V')
    $machine.os.features = @('Containers')
}
Complete-Tests
