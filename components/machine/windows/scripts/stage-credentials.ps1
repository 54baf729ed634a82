# Credentials: reads the logins for what this machine fetches, with its identity, and makes the files that hold them, in
# folders that only the system and administrators may read. At each boot: the logins may have changed.
param([object] $Machine)
. "$PSScriptRoot/identity.ps1"

Initialize-Web
# The function reads any secret beside the join secret, by its name.
$cloud = $Machine.cloud.PSObject.Copy()
$cloud.joinSecret = $Machine.credentials.secret
$logins = Get-JoinSecret $cloud
foreach ($file in $Machine.credentials.files) {
    $text = Read-Text $file.template -Needed
    foreach ($login in $logins.PSObject.Properties) {
        $text = $text.Replace("@$($login.Name)@", $login.Value)
    }
    if ($text -cmatch '@LOGIN_[0-9A-Z]+@') {
        throw "$($Machine.credentials.secret) has no login for $($Matches[0]) in $($file.path)"
    }
    Write-Text $file.path $text
}
Write-Log "files with logins: $(@($Machine.credentials.files).Count)"
