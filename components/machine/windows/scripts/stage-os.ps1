# Operating system: features, and settings that a node can work without: registry, services, pagefile, ports, clock,
# Defender. Requests the one reboot.
param([object] $Machine)
$os = $Machine.os

# On Azure a disk larger than the image leaves the rest unused.
function Resize-SystemDrive {
    $largest = (Get-PartitionSupportedSize -DriveLetter C).SizeMax
    if ($largest - (Get-Partition -DriveLetter C).Size -gt 1073741824) {
        Resize-Partition -DriveLetter C -Size $largest
    }
}

# Fixed at its initial size, because Windows grows a pagefile more slowly than pods take memory.
function Set-Pagefile {
    param([int] $InitialMb, [int] $MaximumMb)
    $system = Get-CimInstance Win32_ComputerSystem
    if ($system.AutomaticManagedPagefile) {
        Set-CimInstance -InputObject $system -Property @{ AutomaticManagedPagefile = $false }
    }
    $sizes = @{ InitialSize = [uint32] $InitialMb; MaximumSize = [uint32] $MaximumMb }
    $file = Get-CimInstance Win32_PageFileSetting | Where-Object { $_.Name -eq 'C:\pagefile.sys' }
    if ($null -eq $file) {
        $file = New-CimInstance -ClassName Win32_PageFileSetting -Property @{ Name = 'C:\pagefile.sys' }
    }
    Set-CimInstance -InputObject $file -Property $sizes
}

# Applies a setting that a node can work without: images, group policies and agents differ, and a node with a default is
# better than none.
$seen = @{ failed = @(); changed = $false }
function Invoke-Optional {
    param([string] $What, [scriptblock] $Body)
    try {
        & $Body | Out-Null
    }
    catch {
        Write-Log "${What}: $_"
        $seen.failed += $What
    }
}

# Writes a registry value. True when it was different or missing before.
function Set-Value {
    param([string] $Path, [string] $Name, [string] $Type, [object] $Value)
    if (-not (Test-Path -LiteralPath $Path)) {
        New-Item -Force -Path $Path | Out-Null
    }
    $before = (Get-ItemProperty -LiteralPath $Path -ErrorAction SilentlyContinue).$Name
    New-ItemProperty -Force -LiteralPath $Path -Name $Name -PropertyType $Type -Value $Value | Out-Null
    $before -ne $Value
}

# Features come first: the component store may have to download some, through the update service that is disabled below.
$features = @(Get-WindowsFeature -Name $os.features)
# An earlier attempt has installed them. Windows refuses further installations until it has restarted.
$pending = @($features | Where-Object { $_.InstallState -eq 'InstallPending' }).Count -gt 0
$reboot = $pending
$missing = @($features | Where-Object { 'Installed', 'InstallPending' -notcontains $_.InstallState })
if ($missing.Count -gt 0 -and -not $pending) {
    Write-Log "features to install: $($missing.Name -join ', ')"
    $result = Install-WindowsFeature -Name $missing.Name
    if (-not $result.Success) {
        throw "features not installed: $($result.ExitCode)"
    }
    $reboot = $result.RestartNeeded -ne 'No'
}
$repairs = (Read-Data $Machine.paths.repairs).($os.name)
foreach ($key in @($os.registry) + @($repairs)) {
    foreach ($value in $key.values.PSObject.Properties) {
        Invoke-Optional "registry value $($value.Name) below $($key.path)" {
            if ((Set-Value $key.path $value.Name $key.type $value.Value) -and $key.reboot) {
                $seen.changed = $true
            }
        }
    }
}
foreach ($name in $os.servicesOff) {
    Invoke-Optional "service $name off" {
        Set-Service -Name $name -StartupType Disabled
        Stop-Within $name
    }
}
foreach ($protocol in 'tcp', 'udp') {
    Invoke-Optional "$protocol ports of connections" {
        Invoke-Program 'netsh.exe' @('int', 'ipv4', 'set', 'dynamicport', $protocol, "start=$($os.dynamicPorts.start)", "num=$($os.dynamicPorts.count)")
    }
}
foreach ($port in $os.excludedUdpPorts) {
    Invoke-Optional "UDP port $port left out" {
        $there = @(Invoke-Program 'netsh.exe' @('int', 'ipv4', 'show', 'excludedportrange', 'udp'))
        if (@($there -match "^\s*$port\s").Count -eq 0) {
            Invoke-Program 'netsh.exe' @('int', 'ipv4', 'add', 'excludedportrange', 'udp', "$port", '1', 'persistent')
        }
    }
}
Invoke-Optional 'clock' {
    Set-Service -Name w32time -StartupType Automatic
    Start-Within w32time
    foreach ($arguments in $os.clock) {
        Invoke-Program 'w32tm.exe' @($arguments)
    }
}
Invoke-Optional 'exclusions of Defender' {
    # It may be uninstalled or managed from outside.
    if (Get-Command Add-MpPreference -ErrorAction SilentlyContinue) {
        Add-MpPreference -ExclusionProcess $os.defender.processes -ExclusionPath $os.defender.paths
    }
}
Invoke-Optional 'folder of dumps' { New-Folder $Machine.paths.dumps }
# The launch agent may extend the drive at the same time.
Invoke-Optional 'size of the system drive' { Resize-SystemDrive }
Invoke-Optional 'pagefile' { Set-Pagefile $os.pagefile.initialMb $os.pagefile.maximumMb }
if ($seen.failed.Count -gt 0) {
    Write-Notice "settings not made, the node goes on without: $($seen.failed -join ', ')" 'Warning'
}

# Drivers read some values when they start. Requested once, and never after another reboot: a policy may revert a value
# each time.
if ($reboot -or ($seen.changed -and -not (Test-Path -LiteralPath "$($Machine.paths.state)/reboots"))) {
    if ($missing.Count -gt 0 -and $pending) {
        return 'again'
    }
    return 'reboot'
}
