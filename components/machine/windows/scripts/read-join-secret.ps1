# Join: determines the machine's identity, fills in its files, and writes the TLS bootstrap kubeconfig unless the node
# has its certificate already.
param($Machine)
. "$PSScriptRoot/identity.ps1"
$paths = $Machine.paths

# True while the kubelet has all that it joins with, and its certificate is this node's, which an image may hold of
# another, and valid for at least ten more minutes.
function Test-Certificate {
    if ((Read-Text $paths.kubeconfig) -notmatch 'server:' -or (Read-Text $paths.clusterCa) -notmatch '-----END CERTIFICATE-----') {
        return $false
    }
    $certificate = Read-Certificate $Machine
    $certificate -and $certificate.NotAfter -gt [DateTime]::Now.AddMinutes(10) -and $certificate.GetNameInfo('SimpleName', $false) -eq "system:node:$($node.name)"
}

function Write-BootstrapKubeconfig {
    param($Secret)
    # All before the first file is written: what the node has joined with is not given for half an answer.
    if ("$($Secret.server)" -notmatch '^https://\S+$' -or "$($Secret.token)" -notmatch '^\S+$' -or "$($Secret.caCertificate)" -notmatch '-----END CERTIFICATE-----') {
        throw 'the join secret lacks API, token or authority'
    }
    # Later PowerShells' ConvertFrom-Json has converted it to a date already.
    $expires = [DateTimeOffset] $Secret.expires
    if ($expires -le [DateTimeOffset]::UtcNow) {
        throw "the join token expired at $($Secret.expires); the control plane has not written a new one"
    }
    $ca = [Convert]::ToBase64String([Text.Encoding]::ASCII.GetBytes($Secret.caCertificate))
    $text = Read-Text $paths.kubeconfigTemplate -Needed
    $text = $text.Replace('@API_SERVER@', $Secret.server).Replace('@CA_DATA@', $ca).Replace('@TOKEN@', $Secret.token)
    # Only the system and administrators may read the token, from the start.
    Protect-Folder (Split-Path -Parent $paths.bootstrapKubeconfig)
    Protect-Folder $paths.certificates
    Write-Text $paths.clusterCa $Secret.caCertificate
    Write-Text $paths.bootstrapKubeconfig $text
    # An expired certificate would be used before the token.
    Remove-Item -Force -LiteralPath $paths.kubeconfig -ErrorAction SilentlyContinue
}

# This machine's name, address and id; where nobody says them, those it has joined with, as long as it has that address:
# a copy of its disk has another.
function Get-OwnIdentity {
    try {
        Get-Identity $Machine.cloud
    }
    catch {
        $silent = $_
        $kept = Read-Data $paths.node
        $addresses = @(Invoke-Wmi { Get-NetIPAddress -AddressFamily IPv4 -CimSession $wmi -ErrorAction Stop }).IPAddress
        if (-not $kept.server -or $addresses -notcontains $kept.address) {
            throw $silent
        }
        Write-Notice "the facts of the last boot are kept: $silent" 'Warning'
        $kept
    }
}

# The API's address, from what this node has written before; empty when nothing of it can be read.
function Get-Server {
    $server = (Read-Data $paths.node).server
    if (-not $server -and (Read-Text $paths.kubeconfig) -match '(?m)^\s*server:\s*"?(https://[^\s"]+)') {
        $server = $Matches[1]
    }
    "$server"
}

Initialize-Web
$node = Get-OwnIdentity
if (-not (Test-Certificate)) {
    $secret = Get-JoinSecret $Machine.cloud
    Write-BootstrapKubeconfig $secret
    $node.server = $secret.server
}
else {
    $node.server = Get-Server
    if (-not $node.server) {
        $node.server = (Get-JoinSecret $Machine.cloud).server
    }
}
if (-not $node.server) {
    throw 'the join secret names no API'
}
Write-Text $paths.node ($node | ConvertTo-Json -Compress)
foreach ($path in ($Machine.stages | Where-Object { $_.name -eq 'join' }).fills) {
    # Kept apart as it came: what is in its place may be torn later, and user data that is run again must not put it
    # under a running kubelet. A template that is torn itself is taken from what was filled from it.
    $text = Read-Text $path
    if ($text -and (-not (Read-Text "$path.template") -or $text -cmatch '@(NODE_NAME|PROVIDER_ID|NODE_IP)@')) {
        Write-Text "$path.template" $text
    }
    Write-Text $path (Expand-Text (Read-Text "$path.template" -Needed) $node)
}
Write-Log "node $($node.name), address $($node.address), provider id $($node.providerId), API $($node.server)"
