# Join: determines the machine's identity, fills in its files, and writes the TLS bootstrap kubeconfig unless the node has its certificate
# already.
param(
    [object] $Machine
)
. "$PSScriptRoot/identity.ps1"
$paths = $Machine.paths

# True while the kubelet's certificate is valid for at least ten more minutes.
function Test-Certificate {
    $file = "$($paths.certificates)/kubelet-client-current.pem"
    if (-not (Test-Path -LiteralPath $paths.kubeconfig) -or -not (Test-Path -LiteralPath $file)) {
        return $false
    }
    if ([IO.File]::ReadAllText($file) -notmatch '(?s)-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----') {
        return $false
    }
    $certificate = New-Object Security.Cryptography.X509Certificates.X509Certificate2 (, [Convert]::FromBase64String($Matches[1]))
    $certificate.NotAfter -gt [DateTime]::Now.AddMinutes(10)
}

function Write-BootstrapKubeconfig {
    param(
        [object] $Secret
    )
    # Later PowerShells' ConvertFrom-Json has converted it to a date already.
    $expires = [DateTimeOffset] $Secret.expires
    if ($expires -le [DateTimeOffset]::UtcNow) {
        throw "the join token expired at $($Secret.expires); the control plane has not written a new one"
    }
    $ca = [Convert]::ToBase64String([Text.Encoding]::ASCII.GetBytes($Secret.caCertificate))
    $text = [IO.File]::ReadAllText($paths.kubeconfigTemplate)
    $text = $text.Replace('@API_SERVER@', $Secret.server).Replace('@CA_DATA@', $ca).Replace('@TOKEN@', $Secret.token)
    # Only the system and administrators may read the token, from the start.
    Protect-Folder (Split-Path -Parent $paths.bootstrapKubeconfig)
    Protect-Folder $paths.certificates
    Write-Text $paths.bootstrapKubeconfig $text
    # An expired certificate would be used before the token.
    Remove-Item -Force -LiteralPath $paths.kubeconfig -ErrorAction SilentlyContinue
    Write-Text $paths.clusterCa $Secret.caCertificate
}

Initialize-Web
$node = Get-Identity $Machine.cloud
$node.server = ''
if (-not (Test-Certificate)) {
    $secret = Get-JoinSecret $Machine.cloud
    Write-BootstrapKubeconfig $secret
    $node.server = $secret.server
}
elseif (Test-Path -LiteralPath $paths.node) {
    $node.server = (Get-Node $Machine).server
}
Write-Text $paths.node ($node | ConvertTo-Json -Compress)
foreach ($path in ($Machine.stages | Where-Object { $_.name -eq 'join' }).fills) {
    Write-Text $path (Expand-Text ([IO.File]::ReadAllText($path)) $node)
}
Write-Log "node $($node.name), address $($node.address), provider id $($node.providerId), API $($node.server)"
