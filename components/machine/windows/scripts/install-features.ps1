# Features of Windows, and what takes effect with them at the one reboot: registry values that drivers read when they
# start. An image may have them.
param($Machine)
. "$PSScriptRoot/settings.ps1"
$os = $Machine.os
$keys = Get-EarlyKeys $Machine

# Features come first: the component store may have to download some, through the update service that is disabled below.
$features = @(Get-WindowsFeature -Name $os.features)
# An earlier attempt has installed them. Windows refuses further installations until it has restarted.
$pending = @($features | Where-Object { $_.InstallState -eq 'InstallPending' }).Count -gt 0
$reboot = $pending
$missing = @($features | Where-Object { 'Installed', 'InstallPending' -notcontains $_.InstallState })
if ($missing.Count -gt 0 -and $pending) {
    return 'again'
}
if ($missing.Count -gt 0) {
    Write-Log "features to install: $($missing.Name -join ', ')"
    $result = Install-WindowsFeature -Name $missing.Name
    if (-not $result.Success) {
        throw "features not installed: $($result.ExitCode)"
    }
    $reboot = $result.RestartNeeded -ne 'No'
}
foreach ($name in $os.servicesOff) {
    Invoke-Optional "service $name off" {
        Set-Service -Name $name -StartupType Disabled
        Stop-Within $name
    }
}
# Last: the next attempt would find them right, and ask for no reboot.
Set-Keys @($keys)
Write-Failed

# Drivers read some values when they start. Requested once, and never after another reboot: a policy may revert a value
# each time.
if ($reboot -or ($seen.changed -and -not (Test-Path -LiteralPath "$($Machine.paths.state)/reboots"))) {
    return 'reboot'
}
