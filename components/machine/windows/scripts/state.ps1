# Which stages are done, kept on disk, and in which boot.

# Identifies this boot: a volatile key vanishes with it, while the boot time that Windows reports moves when the clock
# is set.
function Get-BootId {
    $volatile = [Microsoft.Win32.RegistryOptions]::Volatile
    $check = [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadWriteSubTree
    $key = [Microsoft.Win32.Registry]::LocalMachine.CreateSubKey('SOFTWARE\fenestra-boot', $check, $volatile)
    # The health task and the first stages call this at the same moment, and all must get the same id.
    Invoke-Alone 'boot' -1 {
        if ($null -eq $key.GetValue('id')) {
            $key.SetValue('id', [Guid]::NewGuid().ToString())
        }
    } | Out-Null
    $key.GetValue('id')
}

# Whether a stage has nothing left to do: same inputs, same boot where that matters, its files as it has filled them.
function Test-StageDone {
    param([object] $Machine, [object] $Stage, [string] $BootId)
    $done = Read-Data "$($Machine.paths.state)/$($Stage.name).json"
    if ($null -eq $done -or $done.hash -ne $Stage.hash -or $done.reboot -eq $BootId) {
        return $false
    }
    # What a stage has written may be torn since, and the token may have been written anew.
    if ($Stage.name -eq 'join' -and -not (Read-Data $Machine.paths.node).server) {
        return $false
    }
    if ($Stage.name -eq 'ready' -and (Test-Path -LiteralPath $Machine.paths.bootstrapKubeconfig)) {
        return $false
    }
    if ($Stage.scope -eq 'boot' -and $done.boot -ne $BootId) {
        return $false
    }
    # Not the digests: those are compared when a stage is sent back.
    foreach ($artifact in @($Machine.artifacts | Where-Object { $_.stage -eq $Stage.name -and -not $_.unpack })) {
        if (-not (Test-Program "$($artifact.folder)/$($artifact.name)")) {
            return $false
        }
    }
    foreach ($path in $Stage.fills) {
        $template = Read-Text "$path.template"
        if (-not $template -or (Read-Text $path) -cne (Expand-Text $template (Read-Data $Machine.paths.node))) {
            return $false
        }
    }
    $true
}

# Forgets that stages are done, and what an image says of any.
function Clear-Stages {
    param([object] $Machine, [string[]] $Names)
    if ($Names -and $Machine.paths.image) {
        Remove-Item -Force -LiteralPath $Machine.paths.image -ErrorAction SilentlyContinue
    }
    foreach ($name in $Names) {
        Remove-Item -Force -LiteralPath "$($Machine.paths.state)/$name.json" -ErrorAction SilentlyContinue
    }
}

# With `-Reboot` it is done from the next boot on; with `-Kept` it is to be tried again once the node is Ready.
function Set-StageDone {
    param([object] $Machine, [object] $Stage, [string] $BootId, [switch] $Reboot, [switch] $Kept)
    $state = @{ hash = $Stage.hash; boot = $BootId; finished = [DateTime]::UtcNow.ToString('o') }
    if ($Reboot) {
        $state.reboot = $BootId
    }
    if ($Kept) {
        $state.kept = $true
    }
    Write-Text "$($Machine.paths.state)/$($Stage.name).json" ($state | ConvertTo-Json -Compress)
}
