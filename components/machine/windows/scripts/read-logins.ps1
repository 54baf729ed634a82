# Credentials: reads the logins for what this machine fetches, with its identity, and makes the files that hold them, in
# folders that only the system and administrators may read. At each boot: the logins may have changed. A store that
# refuses, or lacks a login, keeps no machine from coming back that has all files from the boot before, and changes none
# of them; it is asked again later.
param($Machine)
. "$PSScriptRoot/identity.ps1"

Initialize-Web
# The function reads any secret beside the join secret, by its name.
$cloud = $Machine.cloud.PSObject.Copy()
$cloud.joinSecret = $Machine.credentials.secret
$missing = '@LOGIN_[0-9A-Z]+@'
$own = $Machine.stages | Where-Object { $_.name -eq 'credentials' }
$torn = @($Machine.credentials.files | Where-Object { -not (Read-Text $_.path) -or (Read-Text $_.path) -cmatch $missing })
try {
    $logins = @((Get-JoinSecret $cloud).PSObject.Properties | Where-Object { $_.Value -is [string] -and $_.Value })
    $texts = @(foreach ($file in $Machine.credentials.files) {
        $text = Read-Text $file.template -Needed
        foreach ($login in $logins) {
            $text = $text.Replace("@$($login.Name)@", $login.Value)
        }
        if ($text -cmatch $missing) {
            throw "$($Machine.credentials.secret) has no login for $($Matches[0]) in $($file.path)"
        }
        @{ path = $file.path; text = $text }
    })
}
catch {
    if ($torn.Count -gt 0 -or (Read-Data "$($Machine.paths.state)/credentials.json").hash -ne $own.hash) {
        throw
    }
    Write-Notice "the logins of the last boot are kept: $_" 'Warning'
    return 'later'
}
foreach ($each in $texts) {
    Write-Text $each.path $each.text
}
Write-Log "files with logins: $(@($Machine.credentials.files).Count)"
