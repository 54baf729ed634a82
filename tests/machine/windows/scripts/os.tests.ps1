# The operating system's stage: features and the reboot, settings, and faults that must not cost a node.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

$fakeSystem = @{}
function Reset-System {
    Remove-Item -Force -LiteralPath "$temp/reboots" -ErrorAction SilentlyContinue
    $fakeNotices.told = @()
    Set-Values $fakeSystem @{
        features = @{ Containers = 'Available' }; restart = 'Yes'; success = $true; fail = ''; before = @{}; services = @{}
        installed = @(); values = @(); ports = @(); started = @(); calls = @(); excluded = @(); sizes = @()
        managed = $true; pagefile = $null; resized = 0
    }
}
. "$PSScriptRoot/log-fake.ps1"
function Get-ItemProperty { [PSCustomObject] $fakeSystem.before }
function New-Folder { }
function New-Item { }
function Get-WindowsFeature {
    param($Name)
    foreach ($feature in $Name) {
        [PSCustomObject] @{ Name = $feature; InstallState = $fakeSystem.features[$feature] }
    }
}
function Install-WindowsFeature {
    param($Name)
    # As Windows does while it waits for a restart.
    if ($fakeSystem.features.Values -contains 'InstallPending') {
        throw 'The operation cannot be completed, because the server that you specified requires a restart.'
    }
    $fakeSystem.installed += $Name
    if ($fakeSystem.success) {
        foreach ($feature in $Name) { $fakeSystem.features[$feature] = 'InstallPending' }
    }
    [PSCustomObject] @{ Success = $fakeSystem.success; RestartNeeded = $fakeSystem.restart; ExitCode = 'Failed' }
}
function New-ItemProperty {
    param($LiteralPath, $Name, $PropertyType, $Value, [switch] $Force)
    if ($fakeSystem.fail -eq "registry $Name") { throw 'Requested registry access is not allowed.' }
    $fakeSystem.values += "$LiteralPath $Name $PropertyType $Value"
    $fakeSystem.before[$Name] = $Value
}
function Set-Service {
    param($Name, $StartupType)
    $fakeSystem.services[$Name] = $StartupType
}
# In place of those of services.ps1, which stage.ps1 has read in.
function Stop-Within {
    param($Name)
    $fakeSystem.calls += "stop $Name"
}
function Start-Within {
    param($Name)
    $fakeSystem.started += $Name
}
function Invoke-Program {
    param($Path, $Arguments)
    $call = "$Path $($Arguments -join ' ')"
    if ($fakeSystem.fail -and $call -like $fakeSystem.fail) { throw "made to fail: $call" }
    $fakeSystem.calls += $call
    if ($call -like '* show excludedportrange *') { return @('Start Port    End Port') + $fakeSystem.ports }
    if ($call -like '* add excludedportrange udp *') {
        $fakeSystem.ports += "     $($Arguments[5])       $($Arguments[5])     *"
    }
}
function New-CimSession { 'session' }
function Remove-CimSession { }
function Add-MpPreference {
    param($ExclusionProcess, $ExclusionPath)
    $fakeSystem.excluded += $ExclusionProcess + $ExclusionPath
}
function Get-PartitionSupportedSize {
    if ('partition', '*' -contains $fakeSystem.fail) { throw 'the partition is in use' }
    @{ SizeMax = 107374182400 }
}
function Get-Partition { @{ Size = 32212254720 } }
function Resize-Partition {
    param($DriveLetter, $Size)
    $fakeSystem.resized = $Size
}
function Get-CimInstance {
    param($ClassName)
    if ($ClassName -eq 'Win32_ComputerSystem') {
        return [PSCustomObject] @{ AutomaticManagedPagefile = $fakeSystem.managed }
    }
    $fakeSystem.pagefile
}
function New-CimInstance {
    param($ClassName, $Property)
    $fakeSystem.pagefile = [PSCustomObject] $Property
    $fakeSystem.pagefile
}
function Set-CimInstance {
    param($InputObject, $Property)
    if ($Property.ContainsKey('AutomaticManagedPagefile')) {
        $fakeSystem.managed = $Property.AutomaticManagedPagefile
        return
    }
    $fakeSystem.sizes = @($Property.InitialSize, $Property.MaximumSize)
}
$machine = ConvertTo-Data @{
    paths = @{ dumps = 'C:\dumps'; state = $temp; repairs = "$temp/repairs.json" }
    os    = @{
        features     = @('Containers')
        name         = 'windows-2022'
        registry     = @(@{ path = 'HKLM:\SOFTWARE\x'; type = 'DWord'; values = @{ NoAutoUpdate = 1 }; reboot = $false })
        servicesOff  = @('wuauserv', 'UsoSvc')
        dynamicPorts = @{ start = 32768; count = 32768 }
        excludedUdpPorts = @(65330)
        clock        = @(, @('/config', '/update'))
        defender     = @{ processes = @('kubelet.exe'); paths = @('C:\fenestra\bin') }
        pagefile     = @{ initialMb = 4096; maximumMb = 6144 }
    }
}

# Both stages, which on a machine run side by side.
function Invoke-Both {
    param($OfTest)
    & "$scripts/install-features.ps1" -Machine $OfTest
    & "$scripts/apply-settings.ps1" -Machine $OfTest
}
ConvertTo-Json -Depth 5 @{ 'windows-2022' = @(@{ path = 'HKLM:\SYSTEM\y'; type = 'DWord'; values = @{ '1114842764' = 0 }; reboot = $true }); 'windows-2019' = @(@{ path = 'HKLM:\SYSTEM\z'; type = 'DWord'; values = @{ other = 1 }; reboot = $true }) } | Set-Content -Path "$temp/repairs.json"

Test 'a stock image: the feature is installed, everything is set, one reboot is asked for' {
    Reset-System
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    Assert-Equal $fakeSystem.installed @('Containers')
    Assert-Equal $fakeSystem.values @('HKLM:\SYSTEM\y 1114842764 DWord 0', 'HKLM:\SOFTWARE\x NoAutoUpdate DWord 1')
    Assert-Equal $fakeNotices.told @()
    Assert-Equal @($fakeSystem.services.wuauserv, $fakeSystem.services.UsoSvc, $fakeSystem.services.w32time) @('Disabled', 'Disabled', 'Automatic')
    Assert-Equal $fakeSystem.started @('w32time')
    Assert-Equal @($fakeSystem.calls -notlike 'stop *') @(
        'netsh.exe int ipv4 set dynamicport tcp start=32768 num=32768'
        'netsh.exe int ipv4 set dynamicport udp start=32768 num=32768'
        'netsh.exe int ipv4 show excludedportrange udp'
        'netsh.exe int ipv4 add excludedportrange udp 65330 1 persistent'
        'w32tm.exe /config /update'
    )
    Assert-Equal $fakeSystem.excluded @('kubelet.exe', 'C:\fenestra\bin')
    Assert-Equal @($fakeSystem.managed, $fakeSystem.pagefile.Name, $fakeSystem.sizes[0], $fakeSystem.sizes[1]) @($false, 'C:\pagefile.sys', 4096, 6144)
    Assert-Equal $fakeSystem.resized 107374182400
}
foreach ($torn in '', "`0`0", '{}', '{"windows-2022":') {
    Test "a list of fixes that is '$torn' leaves none out in silence: the stage fails, and an image is not believed" {
        Reset-System
        $kept = Get-Content -Raw -LiteralPath $machine.paths.repairs
        Set-Content -NoNewline -LiteralPath $machine.paths.repairs -Value $torn
        try {
            Assert-Throws { & "$scripts/install-features.ps1" -Machine $machine } 'repairs\.json'
            Assert-Equal @($fakeSystem.values.Count, $fakeSystem.installed.Count) @(0, 0)
        }
        finally {
            Set-Content -NoNewline -LiteralPath $machine.paths.repairs -Value $kept
        }
    }
}
Test 'after the reboot nothing is installed again and none is asked for' {
    Reset-System
    Invoke-Both $machine
    $fakeSystem.installed = @()
    # An attempt that is repeated for another stage.
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    $fakeSystem.features.Containers = 'Installed'
    $fakeSystem.calls = @()
    Assert-Equal @(Invoke-Both $machine) @()
    Assert-Equal $fakeSystem.installed @()
    Assert-Equal @($fakeSystem.calls -like '* add *') @()
}
Test 'an image that has the feature needs a reboot for repairs that it lacks, since drivers read them when they start, but never a second' {
    Reset-System
    $fakeSystem.features.Containers = 'Installed'
    $fakeSystem.before['1114842764'] = 0
    Assert-Equal @(Invoke-Both $machine) @()
    $fakeSystem.before = @{}
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    # A policy of the domain takes it back at each start.
    $fakeSystem.before['1114842764'] = 1
    Write-Text "$temp/reboots" '1'
    Assert-Equal @(Invoke-Both $machine) @()
}
Test 'a feature that does not install is an error, and updates, which it may need, are not off yet' {
    Reset-System
    $fakeSystem.success = $false
    Assert-Throws { Invoke-Both $machine } 'features not installed: Failed'
    Assert-Equal $fakeSystem.services.Count 0
}
foreach ($case in Read-Table @'
fail|told
netsh.exe * tcp *|tcp ports of connections
netsh.exe * udp|UDP port 65330 left out
w32tm.exe *|clock
registry 1114842764|registry value 1114842764 below HKLM:\SYSTEM\y
partition|size of the system drive
*|tcp ports of connections, udp ports of connections, UDP port 65330 left out, clock, size of the system drive
'@) {
    Test "what fails at '$($case.fail)' costs no node: it is told, and the rest is set" {
        Reset-System
        $fakeSystem.fail = $case.fail
        Assert-Equal @(Invoke-Both $machine) @('reboot')
        Assert-Equal $fakeNotices.told @("settings not made, the node goes on without: $($case.told)")
        Assert-Equal @($fakeSystem.sizes[0], $fakeSystem.started[-1], $fakeSystem.installed[0]) @(4096, 'w32time', 'Containers')
    }
}
Test 'a feature that is missing beside one that waits for its restart is installed after it' {
    Reset-System
    $machine.os.features = @('Containers', 'Hyper-V')
    $fakeSystem.features = @{ Containers = 'InstallPending'; 'Hyper-V' = 'Available' }
    Assert-Equal @(Invoke-Both $machine) @('again')
    $fakeSystem.features.Containers = 'Installed'
    Assert-Equal @(Invoke-Both $machine) @('reboot')
    Assert-Equal $fakeSystem.installed @('Hyper-V')
    $machine.os.features = @('Containers')
}
Complete-Tests
