# What is on the disk already, and what an image of the user's has done beforehand. The image decides nothing: a stage is
# skipped when image.json has the hash of its script and inputs, and what it makes is on the disk. Anything else runs it.
. "$PSScriptRoot/settings.ps1"

# The image's record: nothing when it is missing, torn, of another system or of another format.
function Read-Image {
    param($Machine)
    $image = Read-Data $Machine.paths.image
    if ($image.format -eq 1 -and $image.os -ceq $Machine.os.name) {
        $image
    }
}

# Whether the features are there, and what takes effect at their reboot: by their services, since the component store
# takes long to say so.
function Test-Features {
    param($Machine)
    $os = $Machine.os
    foreach ($name in $os.featureServices) {
        if (-not (Get-Service -Name $name -ErrorAction SilentlyContinue)) {
            return $false
        }
    }
    foreach ($name in $os.servicesOff) {
        if ("$((Get-Service -Name $name -ErrorAction SilentlyContinue).StartType)" -notmatch '^(Disabled)?$') {
            return $false
        }
    }
    foreach ($key in Get-EarlyKeys $Machine) {
        foreach ($value in $key.values.PSObject.Properties) {
            if ((Get-ItemProperty -LiteralPath $key.path -ErrorAction SilentlyContinue).($value.Name) -ne $value.Value) {
                return $false
            }
        }
    }
    $true
}

# The programs in an archive, by their paths in it.
function Get-Packed {
    param($Machine, $Artifact)
    @(Invoke-Program 'tar.exe' @('-tzf', "$($Machine.paths.downloads)/$($Artifact.file)") -Seconds 300) -match '\.(exe|dll)$' -replace '^\./'
}

# What was verified when a file was put in its place: its digest, and those of what came out of an archive.
function Read-Kept {
    param($Machine, $Artifact)
    Read-Data "$($Machine.paths.downloads)/kept/$($Artifact.file).json"
}

# What came out of an archive, by the record.
function Get-KeptNames {
    param($Kept)
    $Kept.files.PSObject.Properties | Where-Object { $_ } | ForEach-Object { $_.Name }
}

# Whether a file is in its place as it was verified, by the digest of the lock file, or by that of the record where that
# has none; of an archive all programs, by the digests of the record, which is -Own where this machine has unpacked the
# archive itself, and needs it no more.
function Test-Placed {
    param($Machine, $Artifact, $Kept, [switch] $Own)
    $digest = @($Artifact.digest, $Kept.digest | Where-Object { $_ })[0]
    if (-not $Artifact.unpack) {
        return $digest -and (Get-Digest "$($Artifact.folder)/$($Artifact.name)" $Artifact.algorithm) -eq $digest
    }
    $names = @(Get-KeptNames $Kept)
    if ($Kept.digest -ne $digest -or $names.Count -eq 0 -or (-not $Own -and @(Get-Packed $Machine $Artifact | Where-Object { $names -notcontains $_ }).Count -gt 0)) {
        return $false
    }
    foreach ($name in $names) {
        if (-not $Kept.files.$name -or (Get-Digest "$($Artifact.folder)/$name" 'SHA256') -ne $Kept.files.$name) {
            return $false
        }
    }
    $true
}

# Whether all that a stage has put in its place is as it was verified; false of a stage that fetches nothing.
function Test-Whole {
    param($Machine, [string] $Stage)
    $artifacts = @($Machine.artifacts | Where-Object { $_.stage -eq $Stage })
    foreach ($artifact in $artifacts) {
        try {
            if (Test-Placed $Machine $artifact (Read-Kept $Machine $artifact) -Own) {
                continue
            }
        }
        catch {
            Write-Log "$_"
        }
        Write-Log "$($artifact.name) is not as it was verified"
        return $false
    }
    $artifacts.Count -gt 0
}

# Whether the image has done a stage of which this machine has no record yet.
function Test-Baked {
    param($Machine, $Stage)
    if (-not $Stage.content -or (Test-Path -LiteralPath "$($Machine.paths.state)/$($Stage.name).json")) {
        return $false
    }
    try {
        $image = Read-Image $Machine
        $claims = @($image.stages | Where-Object { $_.name -eq $Stage.name })
        if ($claims.Count -ne 1 -or $claims[0].hash -cne $Stage.content) {
            return $false
        }
        if ($Stage.name -eq 'features') {
            return Test-Features $Machine
        }
        foreach ($artifact in @($Machine.artifacts | Where-Object { $_.stage -eq $Stage.name })) {
            if (-not (Test-Placed $Machine $artifact $image.archives.($artifact.file))) {
                Write-Log "the image says that it has $($artifact.name), and has not"
                return $false
            }
        }
        $true
    }
    catch {
        Write-Log "the image's record is not believed: $_"
        $false
    }
}
