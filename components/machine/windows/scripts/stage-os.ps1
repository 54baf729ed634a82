# Operating system: features, registry, services, pagefile, ports, clock, Defender. Asks for the one reboot.
param(
    [object] $Machine
)
$os = $Machine.os

# A disk larger than the image leaves its rest unused on Azure.
function Resize-SystemDrive {
    $largest = (Get-PartitionSupportedSize -DriveLetter C).SizeMax
    if ($largest - (Get-Partition -DriveLetter C).Size -gt 1073741824) {
        Resize-Partition -DriveLetter C -Size $largest
    }
}

# Fixed at its first size, because Windows grows a pagefile more slowly than pods take memory.
function Set-Pagefile {
    param(
        [int] $InitialMb,
        [int] $MaximumMb
    )
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

# Features come first: what the component store has to fetch, it fetches by the update service that is switched off below.
$features = @(Get-WindowsFeature -Name $os.features)
# An attempt before this one has installed them. Windows refuses more of that until it has restarted.
$reboot = @($features | Where-Object { $_.InstallState -eq 'InstallPending' }).Count -gt 0
$missing = @($features | Where-Object { $_.InstallState -ne 'Installed' })
if ($missing.Count -gt 0 -and -not $reboot) {
    Write-Log "features to install: $($missing.Name -join ', ')"
    $result = Install-WindowsFeature -Name $missing.Name
    if (-not $result.Success) {
        throw "features not installed: $($result.ExitCode)"
    }
    $reboot = $result.RestartNeeded -ne 'No'
}
foreach ($value in $os.registry) {
    if (-not (Test-Path -LiteralPath $value.path)) {
        New-Item -Force -Path $value.path | Out-Null
    }
    New-ItemProperty -Force -LiteralPath $value.path -Name $value.name -PropertyType $value.type -Value $value.value | Out-Null
}
foreach ($name in $os.servicesOff) {
    Stop-Service -Force -Name $name -ErrorAction SilentlyContinue
    Set-Service -Name $name -StartupType Disabled -ErrorAction SilentlyContinue
}
foreach ($protocol in 'tcp', 'udp') {
    Invoke-Program 'netsh.exe' @('int', 'ipv4', 'set', 'dynamicport', $protocol, "start=$($os.dynamicPorts.start)", "num=$($os.dynamicPorts.count)") | Out-Null
}
Set-Service -Name w32time -StartupType Automatic
Start-Service -Name w32time
foreach ($arguments in $os.clock) {
    Invoke-Program 'w32tm.exe' @($arguments) | Out-Null
}
if (Get-Command Add-MpPreference -ErrorAction SilentlyContinue) {
    # Defender may be uninstalled or managed from outside; a slower node is better than none.
    Add-MpPreference -ExclusionProcess $os.defender.processes -ExclusionPath $os.defender.paths -ErrorAction SilentlyContinue
}
New-Folder $Machine.paths.dumps
try {
    Resize-SystemDrive
}
catch {
    # The launch agent may extend the drive at the same time; a node with a small disk is better than none.
    Write-Log "the system drive stays as it is: $_"
}
Set-Pagefile $os.pagefile.initialMb $os.pagefile.maximumMb

if ($reboot) {
    return 'reboot'
}
