# One zip for whoever looks into a node: logs, stage state, HNS, routes, services, containerd and kubelet.
param(
    [string] $Destination = 'C:\fenestra-logs.zip'
)
# What is broken is what one wants to see: go on past every error.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"
$machine = Get-Machine
$folder = Join-Path $env:TEMP "fenestra-$([Guid]::NewGuid())"
New-Folder $folder

# The answer of a command in a file of its own, or its error.
function Save-Answer {
    param(
        [string] $Name,
        [scriptblock] $Command
    )
    try {
        & $Command | Out-String -Width 400 | Set-Content -Encoding UTF8 -Path "$folder/$Name.txt"
    }
    catch {
        Set-Content -Encoding UTF8 -Path "$folder/$Name.txt" -Value "$_"
    }
}

foreach ($kind in 'networks', 'endpoints', 'policylists') {
    Save-Answer "hns-$kind" { Invoke-Hns GET "/$kind/" | ConvertTo-Json -Depth 20 }
}
Save-Answer 'services' { Get-Service | Format-Table -AutoSize }
Save-Answer 'tasks' { Get-ScheduledTask -TaskName 'fenestra*' | Get-ScheduledTaskInfo }
Save-Answer 'routes' { Get-NetRoute -AddressFamily IPv4 | Format-Table -AutoSize }
Save-Answer 'addresses' { Get-NetIPAddress -AddressFamily IPv4 }
Save-Answer 'adapters' { Get-NetAdapter }
Save-Answer 'features' { Get-WindowsFeature | Where-Object { $_.InstallState -eq 'Installed' } }
Save-Answer 'memory' { Get-CimInstance Win32_OperatingSystem | Format-List -Property @('*Memory*', '*Page*') }
Save-Answer 'events' { Get-WinEvent -MaxEvents 1000 -LogName @('Application', 'System') | Format-Table -Wrap -Property @('TimeCreated', 'ProviderName', 'Id', 'Message') }
$endpoint = '--runtime-endpoint', $machine.kubeletEndpoint
Save-Answer 'crictl-info' { & $machine.programs.crictl @endpoint info }
Save-Answer 'crictl-pods' { & $machine.programs.crictl @endpoint pods }
Save-Answer 'crictl-containers' { & $machine.programs.crictl @endpoint ps --all }
Save-Answer 'containerd-config' { & $machine.services.containerd.program --config $machine.paths.containerdConfig config dump }
# Never the kubeconfigs nor the certificates: the zip is made to be handed on.
$sources = @($machine.paths.logs, $machine.paths.state, $machine.paths.machine, $machine.network.conflist, $machine.network.subnetFile) + $machine.cloudLogs
Copy-Item -Recurse -Force -Path $sources -Destination $folder -ErrorAction SilentlyContinue
Compress-Archive -Force -Path "$folder/*" -DestinationPath $Destination
Remove-Item -Recurse -Force -LiteralPath $folder
Write-Host $Destination
