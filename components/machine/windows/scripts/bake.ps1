# Makes a machine the source of an image: does what a node's stages would do, and with -Seal takes away what is one
# machine's own. Safe to repeat. Exit code 0: done; 3010: restart Windows and run it again; else it has failed.
param([switch] $Seal, [switch] $Sysprep)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/run.ps1"
. "$PSScriptRoot/services.ps1"
. "$PSScriptRoot/image.ps1"
. "$PSScriptRoot/fetch-files.ps1"

# An image of an image ages, and Windows can be generalized only so often; a node has an identity.
function Assert-Stock {
    param($Machine)
    $marks = @($Machine.paths.node)
    if (-not (Test-Path -LiteralPath $Machine.paths.state)) {
        $marks += $Machine.paths.image
    }
    $found = @($marks | Where-Object { Test-Path -LiteralPath $_ })
    foreach ($name in 'kubelet', 'containerd') {
        $found += @(Get-Service -Name $name -ErrorAction SilentlyContinue | ForEach-Object { "service $name" })
    }
    $found += @(Get-ScheduledTask -TaskName 'fenestra-*' -ErrorAction SilentlyContinue | ForEach-Object { "task $($_.TaskName)" })
    if ($found.Count -gt 0) {
        throw "this machine was a node, or comes from an image that was made like this ($($found -join ', ')): start from the vendor's image"
    }
}

# containerd as a process, since the image must hold no service: it only pulls.
function Install-Images {
    param($Machine)
    $service = $Machine.services.containerd
    foreach ($pair in @($service.environment)) {
        $name, $value = $pair -split '=', 2
        [Environment]::SetEnvironmentVariable($name, $value)
    }
    New-Folder $Machine.paths.logs
    $process = Start-Process -FilePath $service.program -ArgumentList @($service.arguments | ForEach-Object { Format-Argument $_ }) -PassThru -WindowStyle Hidden
    try {
        Wait-Until { Test-Path -LiteralPath $service.pipe } 60 'the pipe of containerd' | Out-Null
        foreach ($image in $Machine.bake.images) {
            Invoke-Crictl $Machine @('pull', $image) 1800 | Out-Null
            Write-Log "pulled $image"
        }
    }
    finally {
        Stop-Tree $process
    }
}

function Invoke-Bake {
    param($Machine)
    Assert-Stock $Machine
    foreach ($path in $Machine.protected) {
        Protect-Folder $path
    }
    try {
        # Before the stage that switches updates off.
        if (Get-Command Update-MpSignature -ErrorAction SilentlyContinue) {
            Update-MpSignature
        }
    }
    catch {
        Write-Log "signatures of Defender: $_"
    }
    $code = Invoke-Waves $Machine $Machine.bake.waves
    if ($code -eq 0) {
        Install-Artifacts $Machine 'ccg'
        Install-Images $Machine
        Write-Text "$($Machine.paths.state)/baked" (Get-BootId)
    }
    $code
}

# Why Windows would not be whole in an image made now.
function Get-Pending {
    param($Machine)
    $current = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion'
    foreach ($key in "$current\Component Based Servicing\RebootPending", "$current\WindowsUpdate\Auto Update\RebootRequired") {
        if (Test-Path -LiteralPath $key) {
            Split-Path -Leaf $key
        }
    }
    $manager = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager'
    if ((Get-ItemProperty -LiteralPath $manager -ErrorAction SilentlyContinue).PendingFileRenameOperations) {
        'PendingFileRenameOperations'
    }
    foreach ($feature in @(Get-WindowsFeature -Name $Machine.os.features | Where-Object { "$($_.InstallState)" -ne 'Installed' })) {
        "$($feature.Name) $($feature.InstallState)"
    }
}

function Write-Image {
    param($Machine)
    $bake = $Machine.bake
    $now = [DateTime]::UtcNow.ToString('o')
    $baked = @($Machine.stages | Where-Object { $_.content })
    $archives = @{}
    foreach ($artifact in @($Machine.artifacts | Where-Object { ($_.unpack -or -not $_.digest) -and $baked.name -contains $_.stage })) {
        $archives[$artifact.file] = Read-Kept $Machine $artifact
    }
    $image = @{
        format     = 1
        os         = $Machine.os.name
        product    = $bake.product
        kubernetes = $Machine.kubernetes
        base       = $bake.base
        built      = $now
        stages     = @($baked | ForEach-Object { @{ name = $_.name; hash = $_.content; time = $now } })
        archives   = $archives
        images     = @($bake.images)
    }
    Write-Text $Machine.paths.image ($image | ConvertTo-Json -Depth 6)
    Write-Log "image.json: $($image | ConvertTo-Json -Depth 6 -Compress)"
}

# Takes away whatever is this machine's or this cluster's own.
function Clear-Own {
    param($Machine)
    foreach ($path in $Machine.bake.trust) {
        if (Test-Path -LiteralPath $path) {
            $certificate = New-Object Security.Cryptography.X509Certificates.X509Certificate2 $path
            Invoke-Program 'certutil.exe' @('-f', '-delstore', 'Root', $certificate.Thumbprint) | Out-Null
        }
    }
    Stop-Within hns
    # Hyper-V makes a range of addresses once per installation: machines would share it (moby/moby#33070).
    Remove-ItemProperty -LiteralPath 'HKLM:\SOFTWARE\Microsoft\Windows NT\CurrentVersion\Virtualization' -Name 'MinimumMacAddress', 'MaximumMacAddress' -ErrorAction SilentlyContinue
    foreach ($log in 'Application', 'System') {
        Invoke-Program 'wevtutil.exe' @('cl', $log) | Out-Null
    }
    # The last are the records: as long as they are there, what was cut off goes on.
    foreach ($path in $Machine.bake.remove) {
        if (Test-Path -LiteralPath $path) {
            Remove-Item -Recurse -Force -LiteralPath $path
        }
    }
}

function Invoke-Seal {
    param($Machine)
    Assert-Stock $Machine
    $boot = Get-BootId
    $undone = @($Machine.stages | Where-Object { @($Machine.bake.waves | ForEach-Object { $_ }) -contains $_.name -and -not (Test-StageDone $Machine $_ $boot) })
    if ($undone.Count -gt 0 -or -not (Read-Text "$($Machine.paths.state)/baked")) {
        throw "not done yet: $((@($undone.name) + 'images') -join ', '); run bake.ps1 without -Seal until it ends with 0"
    }
    $pending = @(Get-Pending $Machine)
    if ($pending.Count -gt 0) {
        throw "a restart of Windows is pending ($($pending -join ', ')): restart, run bake.ps1 again, and seal then"
    }
    # An extension has put an identity of its own on the machine, and its handler into the image.
    $plugins = @(Get-ChildItem -LiteralPath $Machine.bake.extensions -ErrorAction SilentlyContinue)
    if ($plugins.Count -gt 0) {
        throw "extensions ran on this machine: $($plugins.Name -join ', '); build on one without"
    }
    # By its digests, not by its records: something may have taken a program away since.
    $torn = @($Machine.stages | Where-Object { $_.content -and $_.name -ne 'features' -and -not (Test-Whole $Machine $_.name) } | ForEach-Object { $_.name })
    if ($torn.Count -gt 0) {
        Clear-Stages $Machine $torn
        throw "not all is there that was: run bake.ps1 again for $($torn -join ', ')"
    }
    Write-Image $Machine
    Clear-Own $Machine
}

function Get-ImageState {
    "$((Get-ItemProperty -LiteralPath 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State').ImageState)"
}

# Generalizes Windows, and believes its registry, not an exit code.
function Invoke-Sysprep {
    param($Machine)
    $how = $Machine.bake.generalize
    foreach ($name in $how.agents) {
        Wait-Until { "$((Get-Service -Name $name).Status)" -eq 'Running' } 300 "the service $name" | Out-Null
    }
    if ($how.firstLogon) {
        # OOBE hangs on an Administrator who must change a password (kubernetes-sigs/image-builder#2117) and without a CD-ROM.
        Invoke-Program 'net.exe' @('accounts', '/maxpwage:unlimited') | Out-Null
        Get-LocalUser | Where-Object { "$($_.SID)" -like '*-500' } | Disable-LocalUser
        Set-ItemProperty -LiteralPath 'HKLM:\SYSTEM\CurrentControlSet\Services\cdrom' -Name Start -Value 1
        # A provider of the agent that leaves Windows undeployable (danielsollondon/azvmimagebuilder#83).
        $providers = 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\SysPrepExternal\Generalize'
        foreach ($value in @((Get-ItemProperty -LiteralPath $providers -ErrorAction SilentlyContinue).PSObject.Properties | Where-Object { "$($_.Value)" -match 'VMAgentDisabler\.dll' })) {
            Remove-ItemProperty -LiteralPath $providers -Name $value.Name
        }
    }
    Invoke-Program $how.command[0] @($how.command | Select-Object -Skip 1) -Seconds 1800 | Out-Null
    try {
        Wait-Until { (Get-ImageState) -eq 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE' } 600 'sysprep' 10 | Out-Null
    }
    catch {
        throw "sysprep has left Windows in $(Get-ImageState); its log is C:\Windows\System32\Sysprep\Panther\setupact.log"
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
try {
    if (-not $Seal) {
        Start-Log $machine 'bake'
        $code = Invoke-Bake $machine
        Write-Log "bake: ended with $code"
        exit $code
    }
    # Without a file: its folder goes.
    Invoke-Seal $machine
    if ($Sysprep) {
        Invoke-Sysprep $machine
    }
    Write-Log 'sealed'
    exit 0
}
catch {
    Write-Host "bake: $_"
    exit 1
}
