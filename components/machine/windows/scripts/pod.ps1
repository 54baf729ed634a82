# Shared by the HostProcess pods of flanneld and kube-proxy.
. "$PSScriptRoot/services.ps1"

# The mounted service-account token: at the mount path, or below the sandbox's folder where containerd cannot bind it
# there.
function Get-TokenFile {
    param([string] $Path)
    $candidates = @($Path)
    if ($env:CONTAINER_SANDBOX_MOUNT_POINT) {
        $candidates += Join-Path $env:CONTAINER_SANDBOX_MOUNT_POINT ($Path -replace '^[A-Za-z]:', '')
    }
    foreach ($candidate in $candidates) {
        if (Test-Path -LiteralPath $candidate) {
            return $candidate
        }
    }
    throw "no service-account token at $Path"
}

# A separate kubeconfig with the API's host name: the Service address of in-cluster configuration works only once
# kube-proxy runs.
function Write-PodKubeconfig {
    param($Machine, [string] $Path)
    $config = @{
        apiVersion        = 'v1'
        kind              = 'Config'
        'current-context' = 'node'
        clusters          = @(@{ name = 'cluster'; cluster = @{ server = (Get-Node $Machine).server; 'certificate-authority' = $Machine.paths.clusterCa } })
        users             = @(@{ name = 'pod'; user = @{ tokenFile = Get-TokenFile $Machine.paths.serviceAccountToken } })
        contexts          = @(@{ name = 'node'; context = @{ cluster = 'cluster'; user = 'pod' } })
    }
    Write-Text $Path ($config | ConvertTo-Json -Depth 6)
}

# This node's part of the pod network, from the file that flanneld writes; empty until then. flanneld writes its own
# address there (10.244.3.1/24), while IPAM needs the network's (10.244.3.0/24).
function Get-Subnet {
    param([string] $Path)
    foreach ($line in @((Read-Text $Path) -split "`r?`n")) {
        if ($line -match '^FLANNEL_SUBNET=([\d.]+)/(\d+)$') {
            return (Get-NetworkAddress $Matches[1] ([int] $Matches[2])) + '/' + $Matches[2]
        }
    }
    ''
}

# First address of the network that contains an address.
function Get-NetworkAddress {
    param([string] $Address, [int] $Prefix)
    $bytes = [Net.IPAddress]::Parse($Address).GetAddressBytes()
    for ($i = 0; $i -lt 4; $i += 1) {
        $kept = [Math]::Max(0, [Math]::Min(8, $Prefix - 8 * $i))
        $bytes[$i] = $bytes[$i] -band ((255 -shl (8 - $kept)) -band 255)
    }
    $bytes -join '.'
}

# The program is downloaded while the kubelet registers the node, so this pod may start first. The file appears
# atomically.
function Wait-Program {
    param([string] $Path, [int] $Seconds)
    if (Test-Path -LiteralPath $Path) {
        return
    }
    Write-Log "waits for the stage programs to bring $Path"
    Wait-Until { Test-Path -LiteralPath $Path } $Seconds "the stage programs to bring $Path" | Out-Null
}

# Starts a program with the pod's own output.
function Start-PodProgram {
    param([string] $Path, [string[]] $Arguments)
    $process = Start-Process -FilePath $Path -ArgumentList @($Arguments | ForEach-Object { Format-Argument $_ }) -PassThru -NoNewWindow
    $process.Handle | Out-Null
    Set-Priority ([IO.Path]::GetFileNameWithoutExtension($Path))
    $process
}

# The exit code of a program. None stays behind: the kubelet restarts the pod, and two would share ports and files.
function Wait-PodProgram {
    param($Process)
    try {
        $Process.WaitForExit()
    }
    finally {
        if (-not $Process.HasExited) {
            $Process.Kill()
        }
    }
    $Process.ExitCode
}
