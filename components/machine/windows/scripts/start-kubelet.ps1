# Services of this boot: starts containerd, then the kubelet, as native services.
param($Machine)
. "$PSScriptRoot/services.ps1"
$node = Get-Node $Machine
$service = $Machine.services.kubelet

# Registers the kubelet's service, or updates an existing one.
function Set-Kubelet {
    param([string] $Command)
    $existing = Get-ServiceRecord "Name='kubelet'"
    if ($existing) {
        $result = Invoke-Wmi { Invoke-CimMethod -CimSession $wmi -InputObject $existing -MethodName Change -Arguments @{ PathName = $Command } }
        if ($result.ReturnValue -ne 0) {
            throw "the kubelet's service does not change: $($result.ReturnValue)"
        }
    }
    else {
        New-Service -Name kubelet -BinaryPathName $Command -DependsOn containerd -StartupType Manual | Out-Null
    }
    Set-Recovery kubelet $service.recovery
}

New-Folder $Machine.paths.kubeletState
Restore-Config $Machine
Start-NodeService containerd
Wait-Until { Test-Path -LiteralPath $Machine.services.containerd.pipe } 60 'the pipe of containerd' | Out-Null
$arguments = @($Machine.kubelet.arguments | ForEach-Object { Expand-Text $_ $node })
Set-Kubelet ((@($service.command) + $arguments) -join ' ')
Start-NodeService kubelet
# The first pods' images, while it waits for its certificate. Nobody waits for them: the kubelet pulls what is missing.
foreach ($image in $Machine.firstImages) {
    try {
        Start-Pull $Machine $image
    }
    catch {
        Write-Log "not pulled: ${image}: $_"
    }
}
