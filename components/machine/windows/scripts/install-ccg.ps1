# Container Credential Guard: registers the plug-in that fetches domain accounts for pods on a node that has not joined
# the domain.
param($Machine)
. "$PSScriptRoot/fetch-files.ps1"

# Enables or disables a privilege of this process. SYSTEM holds it, but disabled.
function Set-Privilege {
    param([int] $Number, [bool] $On)
    if (-not ('Fenestra.Privilege' -as [type])) {
        Add-Type -Namespace Fenestra -Name Privilege -MemberDefinition '[DllImport("ntdll.dll")] public static extern int RtlAdjustPrivilege(int privilege, bool enable, bool thread, out bool before);'
    }
    $before = $false
    $status = [Fenestra.Privilege]::RtlAdjustPrivilege($Number, $On, $false, [ref] $before)
    if ($status -ne 0) {
        throw ('privilege {0} does not change: 0x{1:x8}' -f $Number, $status)
    }
}

# Opens a key below HKEY_LOCAL_MACHINE with specific rights.
function Open-Key {
    param([string] $Path, [Security.AccessControl.RegistryRights] $Rights)
    $key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey($Path, [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadWriteSubTree, $Rights)
    if ($null -eq $key) {
        throw "there is no key HKEY_LOCAL_MACHINE\$Path"
    }
    $key
}

# Adds a class to the allowed plug-ins. The key belongs to TrustedInstaller, so its ownership is taken for a moment and
# restored.
function Add-AllowedClass {
    param([string] $Path, [string] $ClassId)
    $takeOwnership = 9
    $restore = 18
    Set-Privilege $takeOwnership $true
    Set-Privilege $restore $true
    $key = Open-Key $Path 'TakeOwnership, ReadPermissions'
    $descriptor = $key.GetAccessControl('Owner, Access').GetSecurityDescriptorSddlForm('Owner, Access')
    try {
        $own = New-Object Security.AccessControl.RegistrySecurity
        $own.SetSecurityDescriptorSddlForm('O:BA', 'Owner')
        $key.SetAccessControl($own)
        $open = Open-Key $Path 'ChangePermissions, ReadPermissions'
        $all = $open.GetAccessControl('Access')
        $administrators = New-Object Security.Principal.SecurityIdentifier 'S-1-5-32-544'
        $all.AddAccessRule((New-Object Security.AccessControl.RegistryAccessRule $administrators, 'FullControl', 'Allow'))
        $open.SetAccessControl($all)
        (Open-Key $Path 'CreateSubKey').CreateSubKey($ClassId).Close()
    }
    finally {
        $back = New-Object Security.AccessControl.RegistrySecurity
        $back.SetSecurityDescriptorSddlForm($descriptor, 'Owner, Access')
        (Open-Key $Path 'ChangePermissions, TakeOwnership, ReadPermissions').SetAccessControl($back)
        Set-Privilege $restore $false
        Set-Privilege $takeOwnership $false
    }
}

# Binary form of a security descriptor.
function ConvertTo-Descriptor {
    param([string] $Sddl)
    $descriptor = New-Object Security.AccessControl.RawSecurityDescriptor $Sddl
    $bytes = New-Object byte[] $descriptor.BinaryLength
    $descriptor.GetBinaryForm($bytes, 0)
    , $bytes
}

function Set-RegistryValue {
    param($Entry)
    if (-not (Test-Path -LiteralPath $Entry.path)) {
        New-Item -Force -Path $Entry.path | Out-Null
    }
    $name = $Entry.name
    if (-not $name) {
        $name = '(default)'
    }
    $value = $Entry.value
    $type = $Entry.type
    if ($type -eq 'Sddl') {
        $value = ConvertTo-Descriptor $value
        $type = 'Binary'
    }
    # Where a key is part of Windows, which lets nobody write it, its value is this one already
    # (kubernetes-sigs/image-builder#1576).
    $there = Get-ItemProperty -LiteralPath $Entry.path -ErrorAction SilentlyContinue
    if ($there -and $null -ne $there.$name -and $type -ne 'Binary' -and "$($there.$name)" -eq "$value") {
        return
    }
    New-ItemProperty -Force -LiteralPath $Entry.path -Name $name -PropertyType $type -Value $value | Out-Null
}

# Copies the plug-in's file to where Windows loads it from, with its event manifests; archives differ in their folders.
function Install-Plugin {
    param($Plugin, [string] $Folder)
    $dll = Get-ChildItem -Recurse -File -LiteralPath $Folder -Filter $Plugin.dll | Select-Object -First 1
    if (-not $dll) {
        throw "the archive of the plug-in has no $($Plugin.dll)"
    }
    # A file in use cannot be replaced, but it can have another name; an identical one need not be.
    $before = Get-Digest $Plugin.target 'SHA256'
    if ($before -ne (Get-Digest $dll.FullName 'SHA256')) {
        $new = "$($Plugin.target).new"
        Copy-Item -Force -LiteralPath $dll.FullName -Destination $new
        Sync-File $new
        if ($before) {
            Move-File $Plugin.target "$($Plugin.target).$($before.Substring(0, 8))"
        }
        Move-File $new $Plugin.target
    }
    foreach ($manifest in @(Get-ChildItem -Recurse -File -LiteralPath $Folder -Filter '*.man')) {
        try {
            Invoke-Program 'wevtutil.exe' @('im', $manifest.FullName) | Out-Null
        }
        catch {
            # Without it the plug-in works, but its events have no text.
            Write-Log "event manifest $($manifest.Name) not installed: $_"
        }
    }
    foreach ($entry in $Plugin.registry) {
        Set-RegistryValue $entry
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$ccg = $Machine.ccg
$class = "HKLM:\$($ccg.allowedClasses)\$($ccg.classId)"
if ($ccg.install) {
    Install-Artifacts $Machine 'ccg'
    Install-Plugin $ccg.install $ccg.folder
    if (-not (Test-Path -LiteralPath $class)) {
        Add-AllowedClass $ccg.allowedClasses $ccg.classId
    }
}
if (-not (Test-Path -LiteralPath $class)) {
    throw "the image of this pool has no plug-in $($ccg.classId) for accounts of a domain: choose an image that has it"
}
