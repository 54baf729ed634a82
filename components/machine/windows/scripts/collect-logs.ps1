# One zip for troubleshooting a node: logs, stage state, HNS, routes, services, containerd and kubelet.
param(
    [string] $Destination = 'C:\fenestra-logs.zip'
)
# The broken parts are the interesting ones: continue past every error.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"

# Writes the output of a command, or its error, to a separate file.
function Save-Answer {
    param(
        [string] $Name,
        [scriptblock] $Command
    )
    try {
        # Before the output is wrapped into lines, which could split a secret.
        & $Command | ForEach-Object { if ($_ -is [string]) { Hide-Secret $_ } else { $_ } } | Out-String -Width 400 | Set-Content -Encoding UTF8 -Path "$folder/$Name.txt"
    }
    catch {
        Set-Content -Encoding UTF8 -Path "$folder/$Name.txt" -Value "$_"
    }
}

# Copies a file or folder without files that may contain secrets: kubeconfigs, keys, certificates, and memory dumps.
function Copy-Source {
    param(
        [string] $Path
    )
    # Given a file's own path, a recursive search would look for its name in all folders below.
    $files = @(Get-Item -LiteralPath $Path -ErrorAction SilentlyContinue)
    if (Test-Path -LiteralPath $Path -PathType Container) {
        $files = @(Get-ChildItem -Recurse -File -LiteralPath $Path -ErrorAction SilentlyContinue)
    }
    foreach ($file in $files) {
        if ($file.FullName -match '[\\/]dumps[\\/]' -or '.conf', '.pem', '.key', '.crt', '.pfx', '.dmp' -contains $file.Extension) {
            continue
        }
        $target = Join-Path $folder ($file.FullName -replace ':', '')
        New-Folder (Split-Path -Parent $target)
        Copy-Item -Force -LiteralPath $file.FullName -Destination $target -ErrorAction SilentlyContinue
    }
}

# Masks secrets that programs write into logs: bootstrap tokens, JSON web tokens, AWS keys, headers, private keys.
function Hide-Secret {
    param(
        [string] $Line
    )
    $Line = $Line -replace '\b[a-z0-9]{6}\.[a-z0-9]{16}\b', '(token)'
    $Line = $Line -replace '\beyJ[\w-]+\.[\w-]+\.?[\w-]*', '(token)'
    $Line = $Line -replace '\b(AKIA|ASIA)[0-9A-Z]{16}\b', '(key)'
    $Line = $Line -replace '(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}', '$1 (hidden)'
    $Line = $Line -replace '(?i)(password|secret|secretaccesskey|token)("?\s*[:=]\s*"?)[\w.~+/=-]{12,}', '$1$2(hidden)'
    $Line -replace '-----BEGIN [A-Z ]*PRIVATE KEY-----.*', '(private key)'
}

# Rewrites every file line by line, because some logs are too large to load into memory.
function Hide-Secrets {
    foreach ($file in @(Get-ChildItem -Recurse -File -LiteralPath $folder)) {
        $clean = "$($file.FullName).clean"
        $key = $false
        $writer = New-Object IO.StreamWriter $clean
        try {
            foreach ($line in [IO.File]::ReadLines($file.FullName)) {
                # A multi-line private key is removed as a whole.
                $key = $key -or $line -match '-----BEGIN [A-Z ]*PRIVATE KEY-----'
                if (-not $key) {
                    $writer.WriteLine((Hide-Secret $line))
                }
                $key = $key -and $line -notmatch '-----END [A-Z ]*PRIVATE KEY-----'
            }
        }
        finally {
            $writer.Close()
        }
        Move-Item -Force -LiteralPath $clean -Destination $file.FullName
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
$folder = Join-Path ([IO.Path]::GetTempPath()) "fenestra-$([Guid]::NewGuid())"
# The archive is as confidential as the node itself.
Protect-Folder $folder
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
Save-Answer 'dumps' { Get-ChildItem -LiteralPath $machine.paths.dumps | Format-Table -AutoSize -Property @('LastWriteTime', 'Length', 'Name') }
Save-Answer 'events' { Get-WinEvent -MaxEvents 1000 -LogName @('Application', 'System') | ForEach-Object { '{0:o} {1} {2} {3}' -f $_.TimeCreated, $_.ProviderName, $_.Id, $_.Message } }
$endpoint = '--runtime-endpoint', $machine.kubeletEndpoint
Save-Answer 'crictl-info' { & $machine.programs.crictl @endpoint info }
Save-Answer 'crictl-pods' { & $machine.programs.crictl @endpoint pods }
Save-Answer 'crictl-containers' { & $machine.programs.crictl @endpoint ps --all }
Save-Answer 'containerd-config' { & $machine.services.containerd.program --config $machine.paths.containerdConfig config dump }
foreach ($source in @($machine.paths.logs, $machine.paths.state, $machine.paths.machine, $machine.network.conflist, $machine.network.subnetFile) + $machine.cloudLogs) {
    Copy-Source $source
}
try {
    $ErrorActionPreference = 'Stop'
    Hide-Secrets
    Compress-Archive -Force -Path "$folder/*" -DestinationPath $Destination
}
finally {
    Remove-Item -Recurse -Force -LiteralPath $folder -ErrorAction SilentlyContinue
}
Write-Host $Destination
