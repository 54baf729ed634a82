# Downloads in parallel, mirror first; nothing is unpacked or put in place before its digest is verified.
. "$PSScriptRoot/image.ps1"

# Digest from the lock file, from what was verified before, or from the publisher's checksum file.
function Get-ExpectedDigest {
    param($Artifact, [string[]] $CurlArguments, $Kept)
    foreach ($digest in $Artifact.digest, $Kept.digest) {
        if ($digest) {
            return $digest
        }
    }
    foreach ($url in $Artifact.checksumUrls) {
        try {
            # No redirect leads to a server without TLS: this decides what is run.
            $text = (Invoke-Program 'curl.exe' ($CurlArguments + @('--proto-redir', '=https', $url))) -join "`n"
            # A digest alone, or a line for each file, of which only this file's counts.
            $name = [Regex]::Escape(($Artifact.urls[0] -split '/')[-1])
            if ($text -match "(?im)^([0-9a-f]{64}([0-9a-f]{64})?)(\s*\z|\s+\*?(\S*/)?$name\s*$)") {
                return $Matches[1].ToLowerInvariant()
            }
        }
        catch {
            Write-Log "no checksum from ${url}: $_"
        }
    }
    throw "$($Artifact.name) has no digest and no checksum file answers"
}

function Start-Fetch {
    param([string] $Url, [string] $Path, [string[]] $CurlArguments)
    # curl's messages go to a file: a stage has no console.
    $arguments = $CurlArguments + @('--continue-at', '-', '--stderr', "$Path.err", '--output', $Path, $Url)
    $process = Start-Process -FilePath 'curl.exe' -ArgumentList @($arguments | ForEach-Object { Format-Argument $_ }) -PassThru -NoNewWindow
    $process.Handle | Out-Null
    $process
}

# One round with one source per file: all files not verified yet, in parallel. Returns those still missing.
function Invoke-Round {
    param([object[]] $Wanted, [int] $Source, [string[]] $CurlArguments)
    foreach ($item in $Wanted) {
        $urls = @($item.artifact.urls)
        $item.url = $urls[$Source % $urls.Count]
        $item.process = Start-Fetch $item.url $item.path $CurlArguments
    }
    foreach ($item in $Wanted) {
        $item.process.WaitForExit()
        if ($item.process.ExitCode -eq 33) {
            # The server cannot go on where a transfer was cut.
            Remove-Item -Force -LiteralPath $item.path -ErrorAction SilentlyContinue
            $item.process = Start-Fetch $item.url $item.path $CurlArguments
            $item.process.WaitForExit()
        }
        $words = (Read-Text "$($item.path).err").Trim()
        Remove-Item -Force -LiteralPath "$($item.path).err" -ErrorAction SilentlyContinue
        $digest = Get-Digest $item.path $item.artifact.algorithm
        if ($digest -eq $item.expected) {
            continue
        }
        Write-Log "$($item.artifact.name): curl ended with $($item.process.ExitCode) '$words', digest '$digest', expected $($item.expected)"
        # What was cut off or took too long goes on where it was (curl(1), exit codes).
        if (18, 28, 56 -notcontains $item.process.ExitCode) {
            Remove-Item -Force -LiteralPath $item.path -ErrorAction SilentlyContinue
        }
        $item
    }
}

# Installs or unpacks a file, atomically for a program, which is then no longer among the downloads: its pod may look
# for it at any time. Keeps what was verified beside the downloads.
function Install-Artifact {
    param($Machine, $Artifact, [string] $Path, [string] $Expected)
    New-Folder $Artifact.folder
    $files = @{}
    if ($Artifact.unpack) {
        $programs = @(Get-Packed $Machine $Artifact)
        # Pods' shims outlive containerd, and a running program cannot be overwritten.
        foreach ($program in $programs) {
            Stop-Program "$($Artifact.folder)/$program"
        }
        Sync-File $Path
        Invoke-Program 'tar.exe' @('-xzf', $Path, '-C', $Artifact.folder) | Out-Null
        foreach ($program in $programs) {
            Sync-File "$($Artifact.folder)/$program"
            $files[$program] = Get-Digest "$($Artifact.folder)/$program" 'SHA256'
        }
    }
    else {
        Install-Program $Artifact $Path $Expected
    }
    Write-Text "$($Machine.paths.downloads)/kept/$($Artifact.file).json" (@{ digest = $Expected; files = $files } | ConvertTo-Json -Compress)
}

function Install-Program {
    param($Artifact, [string] $Path, [string] $Expected)
    $destination = "$($Artifact.folder)/$($Artifact.name)"
    if (-not (Test-Path -LiteralPath $Path) -or (Get-Digest $destination $Artifact.algorithm) -eq $Expected) {
        return
    }
    Stop-Program $destination
    Sync-File $Path
    Move-File $Path $destination
}

# Stops processes that run from a file: a running program cannot be replaced. The kubelet restarts the pod of flanneld
# or kube-proxy.
function Stop-Program {
    param([string] $Path)
    $full = [IO.Path]::GetFullPath($Path)
    $running = @(Get-Process | Where-Object { $_.Path -eq $full })
    foreach ($process in $running) {
        Write-Log "ends $full, process $($process.Id), to replace it"
        Stop-Process -Force -InputObject $process
        $process.WaitForExit(10000) | Out-Null
    }
}

# Whether the right file is among the downloads, or a program in its place already.
function Test-Fetched {
    param([hashtable] $Item)
    $artifact = $Item.artifact
    $there = (Get-Digest $Item.path $artifact.algorithm) -eq $Item.expected
    $there -or (-not $artifact.unpack -and (Get-Digest "$($artifact.folder)/$($artifact.name)" $artifact.algorithm) -eq $Item.expected)
}

# Fetches the artifacts of one stage and, when all are verified, installs them. Safe to repeat: verified files are not
# fetched again.
function Install-Artifacts {
    param($Machine, [string] $Stage)
    $curl = @($Machine.curl)
    New-Folder $Machine.paths.downloads
    $artifacts = @($Machine.artifacts | Where-Object { $_.stage -eq $Stage })
    $items = @(foreach ($artifact in $artifacts) {
        $kept = Read-Kept $Machine $artifact
        @{ artifact = $artifact; path = "$($Machine.paths.downloads)/$($artifact.file)"; expected = Get-ExpectedDigest $artifact $curl $kept; kept = $kept; process = $null; url = '' }
    })
    $wanted = @($items | Where-Object { -not (Test-Fetched $_) -and -not (Test-Placed $Machine $_.artifact $_.kept -Own) })
    $sources = 1
    foreach ($item in $items) {
        $sources = [Math]::Max($sources, @($item.artifact.urls).Count)
    }
    # Twice each: curl repeats neither a transfer that was cut nor wrong bytes, and another attempt holds up the stages
    # beside this one. The pause outlasts the cut when flanneld's network moves the adapter, 5 to 25 s.
    for ($source = 0; $source -lt 2 * $sources -and $wanted.Count -gt 0; $source += 1) {
        if ($source -eq $sources) {
            Start-Sleep -Seconds 30
        }
        $wanted = @(Invoke-Round $wanted $source $curl)
    }
    if ($wanted.Count -gt 0) {
        throw "not downloaded: $(($wanted | ForEach-Object { $_.artifact.name }) -join ', ')"
    }
    foreach ($item in $items) {
        if (-not $item.kept -or -not (Test-Placed $Machine $item.artifact $item.kept -Own)) {
            Install-Artifact $Machine $item.artifact $item.path $item.expected
        }
    }
}
