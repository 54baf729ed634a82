# Proxy: gives containerd's service the proxy with its login, in a key of the registry that only the system and
# administrators may read.
param($Machine)
$check = [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadWriteSubTree
$rights = [Security.AccessControl.RegistryRights]::FullControl
$key = [Microsoft.Win32.Registry]::LocalMachine.OpenSubKey('SYSTEM\CurrentControlSet\Services\containerd', $check, $rights)
if ($null -eq $key) {
    throw 'there is no service containerd'
}
try {
    # By default every user may read the key of a service, so it is closed before the login is in it.
    $acl = New-Object Security.AccessControl.RegistrySecurity
    $acl.SetSecurityDescriptorSddlForm('D:P(A;CI;KA;;;SY)(A;CI;KA;;;BA)', [Security.AccessControl.AccessControlSections]::Access)
    $key.SetAccessControl($acl)
    $lines = [string[]] @((Read-Text $Machine.credentials.environment -Needed) -split "`r?`n" | Where-Object { $_ })
    $key.SetValue('Environment', $lines, [Microsoft.Win32.RegistryValueKind]::MultiString)
}
finally {
    $key.Close()
}
