# The state of this machine: which stages are done, which may run now, and what a stage that fails may undo. Read by
# whoever runs stages, repairs or drains.
. "$PSScriptRoot/image.ps1"
. "$PSScriptRoot/joined.ps1"

# `new` until the node was Ready once; `up` while its pods may run: only a stage or a repair of this boot has started the
# kubelet, and an API that does not answer is no reason to take anything from them; else `down`.
function Get-NodeState {
    param($Machine, [scriptblock] $Question = { Test-NodeReady $Machine (Get-OwnName $Machine) })
    $was = Test-Path -LiteralPath "$($Machine.paths.state)/ready.json"
    if ("$((Get-Service -Name kubelet -ErrorAction SilentlyContinue).Status)" -eq 'Running') {
        $is = $null
        try {
            $is = & $Question
        }
        catch {
            Write-Log "$_"
        }
        if ($is -or ($was -and $null -eq $is)) {
            return 'up'
        }
    }
    if ($was) { 'down' } else { 'new' }
}

# The table: whether a stage may run in a state, which services it then stops, which stages are made again when it has
# failed, and whether nobody may repair anything meanwhile.
function Get-Leave {
    param($Stage, [string] $State)
    $runs = $State -ne 'up' -or -not ($Stage.takes -or $Stage.services)
    @{
        runs   = $runs
        stops  = @($Stage.services | Where-Object { $_ -and $runs })
        again  = @($Stage.sendsBack | Where-Object { $_ -and $State -ne 'up' })
        alone  = $State -eq 'new' -or ($State -eq 'down' -and -not $Stage.late)
    }
}

# Stages that are to run now.
function Get-Due {
    param($Machine, [string] $BootId, [string] $State)
    $Machine.stages | Where-Object { (Get-Leave $_ $State).runs -and -not (Test-StageDone $Machine $_ $BootId) }
}

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
    param($Machine, $Stage, [string] $BootId)
    $done = Read-Data "$($Machine.paths.state)/$($Stage.name).json"
    if (-not $done) {
        # A record that is torn: what `services` needs, all before it, was done in the boot in which that was.
        $proof = Read-Data "$($Machine.paths.state)/services.json"
        $names = @($Machine.stages | ForEach-Object { $_.name })
        $last = [Array]::IndexOf($names, 'services')
        if ($proof.boot -eq $BootId -and $proof.hash -eq @($Machine.stages)[$last].hash -and $names[0..$last] -contains $Stage.name) {
            $done = @{ hash = $Stage.hash; boot = $BootId }
        }
    }
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
    # Not the digests: those are compared when a stage is to be made again.
    foreach ($artifact in @($Machine.artifacts | Where-Object { $_.stage -eq $Stage.name })) {
        $names = if ($artifact.unpack) { Get-KeptNames (Read-Kept $Machine $artifact) } else { $artifact.name }
        foreach ($name in $names) {
            if (-not (Test-Program "$($artifact.folder)/$name")) {
                return $false
            }
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

# Forgets that stages are done, but not of one whose files are as they were verified.
function Clear-Stages {
    param($Machine, [string[]] $Names)
    foreach ($name in $Names) {
        if (Test-Whole $Machine $name) {
            continue
        }
        Remove-Item -Force -LiteralPath "$($Machine.paths.state)/$name.json" -ErrorAction SilentlyContinue
    }
}

# With `-Reboot` it is done from the next boot on.
function Set-StageDone {
    param($Machine, $Stage, [string] $BootId, [switch] $Reboot)
    $state = @{ hash = $Stage.hash; boot = $BootId; finished = [DateTime]::UtcNow.ToString('o') }
    if ($Reboot) {
        $state.reboot = $BootId
    }
    Write-Text "$($Machine.paths.state)/$($Stage.name).json" ($state | ConvertTo-Json -Compress)
}
