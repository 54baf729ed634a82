# AWS: brings the scripts that user data has no room for, checks their digest, puts them in place and runs the entry.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/identity.ps1"

# Fetches until the digest is right: the role's rights may take minutes to reach S3.
function Get-Scripts {
    param(
        [object] $Machine,
        [object] $Object,
        [string] $File
    )
    $pauses = @($Machine.retry.pauseSeconds)
    for ($attempt = 0; $true; $attempt += 1) {
        if ((Get-Digest $File 'SHA256') -eq $Object.sha256) {
            return
        }
        if ($attempt -gt 0) {
            Start-Sleep -Seconds $pauses[[Math]::Min($attempt, $pauses.Count) - 1]
        }
        try {
            Save-AwsObject $Machine.cloud $Object $File
            Write-Log "scripts fetched, SHA-256 $(Get-Digest $File 'SHA256'), expected $($Object.sha256)"
        }
        catch {
            Write-Log "scripts not fetched: $_"
        }
    }
}

# Writes the files of an archive: gzip of JSON, path to text.
function Expand-Scripts {
    param(
        [string] $File
    )
    $stream = New-Object IO.Compression.GZipStream ([IO.File]::OpenRead($File)), ([IO.Compression.CompressionMode]::Decompress)
    $reader = New-Object IO.StreamReader $stream, ([Text.Encoding]::UTF8)
    try {
        $archive = $reader.ReadToEnd() | ConvertFrom-Json
    }
    finally {
        $reader.Close()
    }
    foreach ($item in $archive.files.PSObject.Properties) {
        Write-Text $item.Name $item.Value
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Start-Log $machine 'fetch'
Initialize-Web
$object = Get-Content -Raw -Path "$PSScriptRoot/scripts.json" | ConvertFrom-Json
$file = "$PSScriptRoot/scripts.gz"
Get-Scripts $machine $object $file
Expand-Scripts $file
& "$PSScriptRoot/bootstrap.ps1"
exit $LASTEXITCODE
