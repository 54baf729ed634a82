# The operating system's stage: features and the reboot, settings, and faults that must not cost a node.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

$system = @{}
function Reset-System {
    $system.features = @{ Containers = 'Available' }
    $system.restart = 'Yes'
    $system.success = $true
    $system.installed = @()
    $system.values = @()
    $system.before = @{}
    $system.ports = @()
    $system.notices = @()
    Remove-Item -Force -LiteralPath "$temp/reboots" -ErrorAction SilentlyContinue
    $system.services = @{}
    $system.started = @()
    $system.calls = @()
    $system.excluded = @()
    $system.managed = $true
    $system.pagefile = $null
    $system.sizes = @()
    $system.resized = 0
    $system.fail = ''
}
. "$PSScriptRoot/log-fake.ps1"
function Write-Notice {
    param(
        [string] $Message,
        [string] $Kind
    )
    $system.notices += $Message
}
function Get-ItemProperty {
    param(
        [string] $LiteralPath
    )
    New-Object PSObject -Property $system.before
}
function New-Folder {
    param(
        [string] $Path
    )
}
function New-Item {
}
function Get-WindowsFeature {
    param(
        [string[]] $Name
    )
    foreach ($feature in $Name) {
        New-Object PSObject -Property @{ Name = $feature; InstallState = $system.features[$feature] }
    }
}
function Install-WindowsFeature {
    param(
        [string[]] $Name
    )
    # As Windows does while it waits for a restart.
    if ($system.features.Values -contains 'InstallPending') {
        throw 'The operation cannot be completed, because the server that you specified requires a restart.'
    }
    $system.installed += $Name
    if ($system.success) {
        foreach ($feature in $Name) {
            $system.features[$feature] = 'InstallPending'
        }
    }
    New-Object PSObject -Property @{ Success = $system.success; RestartNeeded = $system.restart; ExitCode = 'Failed' }
}
function New-ItemProperty {
    param(
        [string] $LiteralPath,
        [string] $Name,
        [string] $PropertyType,
        [object] $Value,
        [switch] $Force
    )
    if ($system.fail -eq "registry $Name") {
        throw 'Requested registry access is not allowed.'
    }
    $system.values += "$LiteralPath $Name $PropertyType $Value"
    $system.before[$Name] = $Value
}
function Stop-Service {
    param(
        [string] $Name,
        [switch] $Force
    )
    $system.calls += "stop $Name"
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    $system.services[$Name] = $StartupType
}
function Start-Service {
    param(
        [string] $Name
    )
    $system.started += $Name
}
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments
    )
    $call = "$Path $($Arguments -join ' ')"
    if ($system.fail -and $call -like $system.fail) {
        throw "made to fail: $call"
    }
    $system.calls += $call
    if ($call -like '* show excludedportrange *') {
        return @('Start Port    End Port') + $system.ports
    }
    if ($call -like '* add excludedportrange udp *') {
        $system.ports += "     $($Arguments[5])       $($Arguments[5])     *"
    }
}
function Add-MpPreference {
    param(
        [string[]] $ExclusionProcess,
        [string[]] $ExclusionPath
    )
    $system.excluded += $ExclusionProcess + $ExclusionPath
}
function Get-PartitionSupportedSize {
    param(
        [string] $DriveLetter
    )
    if ('partition', '*' -contains $system.fail) {
        throw 'the partition is in use'
    }
    @{ SizeMax = 107374182400 }
}
function Get-Partition {
    param(
        [string] $DriveLetter
    )
    @{ Size = 32212254720 }
}
function Resize-Partition {
    param(
        [string] $DriveLetter,
        [object] $Size
    )
    $system.resized = $Size
}
function Get-CimInstance {
    param(
        [string] $ClassName
    )
    if ($ClassName -eq 'Win32_ComputerSystem') {
        return New-Object PSObject -Property @{ AutomaticManagedPagefile = $system.managed }
    }
    $system.pagefile
}
function New-CimInstance {
    param(
        [string] $ClassName,
        [hashtable] $Property
    )
    $system.pagefile = New-Object PSObject -Property $Property
    $system.pagefile
}
function Set-CimInstance {
    param(
        [object] $InputObject,
        [hashtable] $Property
    )
    if ($Property.ContainsKey('AutomaticManagedPagefile')) {
        $system.managed = $Property.AutomaticManagedPagefile
        return
    }
    $system.sizes = @($Property.InitialSize, $Property.MaximumSize)
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

ConvertTo-Json -Depth 5 @{ 'windows-2022' = @(@{ path = 'HKLM:\SYSTEM\y'; type = 'DWord'; values = @{ '1114842764' = 0 }; reboot = $true }); 'windows-2019' = @(@{ path = 'HKLM:\SYSTEM\z'; type = 'DWord'; values = @{ other = 1 }; reboot = $true }) } | Set-Content -Path "$temp/repairs.json"

Test 'a stock image: the feature is installed, everything is set, one reboot is asked for' {
    Reset-System
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
    Assert-Equal $system.installed @('Containers')
    Assert-Equal $system.values @('HKLM:\SOFTWARE\x NoAutoUpdate DWord 1', 'HKLM:\SYSTEM\y 1114842764 DWord 0')
    Assert-Equal $system.notices @()
    Assert-Equal @($system.services.wuauserv, $system.services.UsoSvc, $system.services.w32time) @('Disabled', 'Disabled', 'Automatic')
    Assert-Equal $system.started @('w32time')
    Assert-Equal @($system.calls | Where-Object { $_ -notlike 'stop *' }) @(
        'netsh.exe int ipv4 set dynamicport tcp start=32768 num=32768'
        'netsh.exe int ipv4 set dynamicport udp start=32768 num=32768'
        'netsh.exe int ipv4 show excludedportrange udp'
        'netsh.exe int ipv4 add excludedportrange udp 65330 1 persistent'
        'w32tm.exe /config /update'
    )
    Assert-Equal $system.excluded @('kubelet.exe', 'C:\fenestra\bin')
    Assert-Equal @($system.managed, $system.pagefile.Name, $system.sizes[0], $system.sizes[1]) @($false, 'C:\pagefile.sys', 4096, 6144)
    Assert-Equal $system.resized 107374182400
}
Test 'after the reboot nothing is installed again and none is asked for' {
    Reset-System
    & "$scripts/stage-os.ps1" -Machine $machine | Out-Null
    $system.features.Containers = 'Installed'
    $system.installed = @()
    $system.calls = @()
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @()
    Assert-Equal $system.installed @()
    Assert-Equal @($system.calls | Where-Object { $_ -like '* add *' }) @()
}
Test 'an image that has the feature needs no reboot, if it has the repairs too' {
    Reset-System
    $system.features.Containers = 'Installed'
    $system.before['1114842764'] = 0
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @()
}
Test 'else it needs one, since drivers read them when they start, but never a second' {
    Reset-System
    $system.features.Containers = 'Installed'
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
    # A policy of the domain takes it back at each start.
    $system.before['1114842764'] = 1
    Set-Content -Path "$temp/reboots" -Value '1'
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @()
}
Test 'a feature that does not install is an error, and updates, which it may need, are not off yet' {
    Reset-System
    $system.success = $false
    Assert-Throws { & "$scripts/stage-os.ps1" -Machine $machine } 'features not installed: Failed'
    Assert-Equal $system.services.Count 0
}
foreach ($case in @(
    @{ fail = 'netsh.exe * tcp *'; told = 'tcp ports of connections' }
    @{ fail = 'netsh.exe * udp'; told = 'UDP port 65330 left out' }
    @{ fail = 'w32tm.exe *'; told = 'clock' }
    @{ fail = 'registry 1114842764'; told = 'registry value 1114842764 below HKLM:\SYSTEM\y' }
    @{ fail = 'partition'; told = 'size of the system drive' }
    @{ fail = '*'; told = 'tcp ports of connections, udp ports of connections, UDP port 65330 left out, clock, size of the system drive' }
)) {
    Test "what fails at '$($case.fail)' costs no node: it is told, and the rest is set" {
        Reset-System
        $system.fail = $case.fail
        Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
        Assert-Equal $system.notices @("settings not made, the node goes on without: $($case.told)")
        Assert-Equal @($system.sizes[0], $system.started[-1], $system.installed[0]) @(4096, 'w32time', 'Containers')
    }
}
Test 'an attempt that was repeated for another stage installs nothing twice, and still asks for the reboot' {
    Reset-System
    & "$scripts/stage-os.ps1" -Machine $machine | Out-Null
    $system.installed = @()
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
    Assert-Equal $system.installed @()
}
Test 'a feature that is missing beside one that waits for its restart is installed after it' {
    Reset-System
    $machine.os.features = @('Containers', 'Hyper-V')
    $system.features = @{ Containers = 'InstallPending'; 'Hyper-V' = 'Available' }
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
    $system.features.Containers = 'Installed'
    Assert-Equal @(& "$scripts/stage-os.ps1" -Machine $machine) @('reboot')
    Assert-Equal $system.installed @('Hyper-V')
    $machine.os.features = @('Containers')
}
Complete-Tests
