# What an image of the user's has done beforehand. It decides nothing: a stage is skipped when image.json has the hash of
# its script and inputs, and what it makes is on the disk. Anything else runs the stage.

# The image's record: nothing when it is missing, torn, of another system or of another format.
function Read-Image {
    param([object] $Machine)
    $image = Read-Data $Machine.paths.image
    if ($image.format -eq 1 -and $image.os -ceq $Machine.os.name) {
        $image
    }
}

# Whether the features are there, and what takes effect at their reboot: by their services, since the component store
# takes long to say so.
function Test-Features {
    param([object] $Machine)
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
    foreach ($key in @($os.registry | Where-Object { $_.reboot }) + @((Read-Data $Machine.paths.repairs).($os.name))) {
        foreach ($value in $key.values.PSObject.Properties) {
            if ((Get-ItemProperty -LiteralPath $key.path -ErrorAction SilentlyContinue).($value.Name) -ne $value.Value) {
                return $false
            }
        }
    }
    $true
}

# Whether a file is in its place: a program by the digest that the lock file has, what came out of an archive by those
# that the image has for the archive of that digest.
function Test-Placed {
    param([object] $Image, [object] $Artifact)
    if (-not $Artifact.digest) {
        return $false
    }
    if (-not $Artifact.unpack) {
        return (Get-Digest "$($Artifact.folder)/$($Artifact.name)" $Artifact.algorithm) -eq $Artifact.digest
    }
    $archive = $Image.archives.($Artifact.file)
    $files = @($archive.files.PSObject.Properties)
    if ($archive.digest -ne $Artifact.digest -or $files.Count -eq 0) {
        return $false
    }
    foreach ($file in $files) {
        if (-not $file.Value -or (Get-Digest "$($Artifact.folder)/$($file.Name)" 'SHA256') -ne $file.Value) {
            return $false
        }
    }
    $true
}

# Whether the image has done a stage of which this machine has no record yet.
function Test-Baked {
    param([object] $Machine, [object] $Stage)
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
            if (-not (Test-Placed $image $artifact)) {
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
