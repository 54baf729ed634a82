# Settings of this machine, beside the features and before their reboot, with which the pagefile takes effect: registry,
# pagefile, ports, clock, Defender. A node can work without, also where one of them hangs.
param($Machine)
. "$PSScriptRoot/settings.ps1"
$os = $Machine.os

# On Azure a disk larger than the image leaves the rest unused.
function Resize-SystemDrive {
    Invoke-Wmi {
        $largest = (Get-PartitionSupportedSize -CimSession $wmi -DriveLetter C).SizeMax
        if ($largest - (Get-Partition -CimSession $wmi -DriveLetter C).Size -gt 1073741824) {
            Resize-Partition -CimSession $wmi -DriveLetter C -Size $largest
        }
    }
}

# Fixed at its initial size, because Windows grows a pagefile more slowly than pods take memory.
function Set-Pagefile {
    param([int] $InitialMb, [int] $MaximumMb)
    $sizes = @{ InitialSize = [uint32] $InitialMb; MaximumSize = [uint32] $MaximumMb }
    Invoke-Wmi {
        $system = Get-CimInstance Win32_ComputerSystem -CimSession $wmi
        if ($system.AutomaticManagedPagefile) {
            Set-CimInstance -CimSession $wmi -InputObject $system -Property @{ AutomaticManagedPagefile = $false }
        }
        $file = Get-CimInstance Win32_PageFileSetting -CimSession $wmi | Where-Object { $_.Name -eq 'C:\pagefile.sys' }
        if ($null -eq $file) {
            $file = New-CimInstance -CimSession $wmi -ClassName Win32_PageFileSetting -Property @{ Name = 'C:\pagefile.sys' }
        }
        Set-CimInstance -CimSession $wmi -InputObject $file -Property $sizes
    }
}

Set-Keys @($os.registry | Where-Object { -not $_.reboot })
foreach ($protocol in 'tcp', 'udp') {
    Invoke-Optional "$protocol ports of connections" {
        Invoke-Program 'netsh.exe' @('int', 'ipv4', 'set', 'dynamicport', $protocol, "start=$($os.dynamicPorts.start)", "num=$($os.dynamicPorts.count)") -Seconds 60
    }
}
foreach ($port in $os.excludedUdpPorts) {
    Invoke-Optional "UDP port $port left out" {
        $there = @(Invoke-Program 'netsh.exe' @('int', 'ipv4', 'show', 'excludedportrange', 'udp') -Seconds 60)
        if (@($there -match "^\s*$port\s").Count -eq 0) {
            Invoke-Program 'netsh.exe' @('int', 'ipv4', 'add', 'excludedportrange', 'udp', "$port", '1', 'persistent') -Seconds 60
        }
    }
}
Invoke-Optional 'clock' {
    Set-Service -Name w32time -StartupType Automatic
    # Its triggers stop it at each boot outside a domain (Microsoft, KB 2385818). 87: it has none.
    Invoke-Program 'sc.exe' @('triggerinfo', 'w32time', 'delete') -Accept @(0, 87) -Seconds 60
    Start-Within w32time
    foreach ($arguments in $os.clock) {
        Invoke-Program 'w32tm.exe' @($arguments) -Seconds 60
    }
}
Invoke-Optional 'exclusions of Defender' {
    # It may be uninstalled or managed from outside.
    if (Get-Command Add-MpPreference -ErrorAction SilentlyContinue) {
        Invoke-Wmi { Add-MpPreference -CimSession $wmi -ExclusionProcess $os.defender.processes -ExclusionPath $os.defender.paths }
    }
}
Invoke-Optional 'folder of dumps' { New-Folder $Machine.paths.dumps }
# The launch agent may extend the drive at the same time.
Invoke-Optional 'size of the system drive' { Resize-SystemDrive }
Invoke-Optional 'pagefile' { Set-Pagefile $os.pagefile.initialMb $os.pagefile.maximumMb }
Write-Failed
