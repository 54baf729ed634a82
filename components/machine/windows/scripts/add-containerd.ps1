# Registers containerd as a native service with recovery actions. It is started by the services stage, after the
# network.
param($Machine)
. "$PSScriptRoot/services.ps1"
$service = $Machine.services.containerd
if (Get-Service -Name containerd -ErrorAction SilentlyContinue) {
    Invoke-Program $service.program @('--unregister-service') | Out-Null
    Wait-Until { -not (Get-Service -Name containerd -ErrorAction SilentlyContinue) } 30 'the old containerd service to go' | Out-Null
}
Invoke-Program $service.program (@('--register-service') + $service.arguments) | Out-Null
# It registers itself to start at boot, which would be before this boot's network exists.
Set-Service -Name containerd -StartupType Manual
if (@($service.environment).Count -gt 0) {
    New-ItemProperty -Force -Path 'HKLM:\SYSTEM\CurrentControlSet\Services\containerd' -Name Environment -PropertyType MultiString -Value @($service.environment) | Out-Null
}
Set-Recovery containerd $service.recovery
