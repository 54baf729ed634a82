# Fetches LogMonitor.exe into a volume, leaves there only a file with the expected SHA-256, and puts its configuration
# beside it.
$ErrorActionPreference = 'Stop'

# Runs curl.exe; gives whether it succeeded.
function Invoke-Curl {
    param(
        [string[]] $Arguments
    )
    & curl.exe --max-time 600 @Arguments
    $LASTEXITCODE -eq 0
}

# The digest that GitHub tells of a release's file; empty when it tells none.
function Get-ReleaseDigest {
    param(
        [string] $Path,
        [string] $Name
    )
    $release = Get-Content -Raw -Encoding UTF8 -LiteralPath $Path | ConvertFrom-Json
    foreach ($asset in $release.assets) {
        if ($asset.name -eq $Name -and "$($asset.digest)" -match '^sha256:([0-9a-f]{64})$') {
            return $Matches[1]
        }
    }
    ''
}

# The digest that was recorded, or the one that the publisher tells.
function Get-Expected {
    param(
        [string[]] $Curl,
        [string] $Recorded,
        [string[]] $Releases,
        [string] $Name,
        [string] $Folder
    )
    if ($Recorded) {
        return $Recorded
    }
    $path = Join-Path $Folder 'release.json'
    foreach ($url in $Releases) {
        if (Invoke-Curl ($Curl + @('--output', $path, $url))) {
            $digest = Get-ReleaseDigest $path $Name
            Remove-Item -Force -LiteralPath $path
            if ($digest) {
                return $digest
            }
        }
    }
    throw "nobody tells the SHA-256 of ${Name}: record it in the lock file with fenestra pin"
}

# Tries the sources in order until one gives the file with the expected digest.
function Save-File {
    param(
        [string[]] $Curl,
        [string[]] $Urls,
        [string] $Expected,
        [string] $Path
    )
    foreach ($url in $Urls) {
        if (-not (Invoke-Curl ($Curl + @('--output', "$Path.new", $url)))) {
            Write-Output "no answer from $url"
            continue
        }
        $digest = (Get-FileHash -Algorithm SHA256 -LiteralPath "$Path.new").Hash.ToLowerInvariant()
        if ($digest -eq $Expected) {
            Move-Item -Force -LiteralPath "$Path.new" -Destination $Path
            Write-Output "$Path is from $url, SHA-256 $digest"
            return
        }
        Remove-Item -Force -LiteralPath "$Path.new"
        Write-Output "$url has the SHA-256 $digest, expected $Expected"
    }
    throw "$(Split-Path -Leaf $Path) was not fetched"
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$curl = @("$env:CURL" -split ' ' | Where-Object { $_ })
$urls = @("$env:URLS" -split ' ' | Where-Object { $_ })
$releases = @("$env:RELEASES" -split ' ' | Where-Object { $_ })
$expected = Get-Expected $curl "$env:SHA256" $releases 'LogMonitor.exe' $env:FOLDER
Save-File $curl $urls $expected "$env:FOLDER\LogMonitor.exe"
Copy-Item -Force -LiteralPath $env:CONFIG -Destination $env:FOLDER
