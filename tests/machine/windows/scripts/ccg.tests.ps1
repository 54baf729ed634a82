# The gMSA plug-in: a wrong archive installs nothing, and what is registered is what COM and Windows read.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/install-ccg.ps1"

$fakeClass = '{CCC2A336-D7F3-4818-A213-272B7924213E}'
function ConvertTo-Descriptor {
    param($Sddl)
    "bytes of $Sddl"
}

function New-Plugin {
    $data = New-Data @'
dll plugin.dll
target FOLDER/installed.dll
registry [{"path":"HKLM:\\A","name":"","type":"String","value":"text"},{"path":"HKLM:\\A","name":"AccessPermission","type":"Sddl","value":"O:BA"}]
'@
    New-Folder "$($data.folder)/CCGPlugin"
    Reset-Pc
    @{ folder = $data.folder; data = $data }
}

Test 'places and registers the library, leaves the same alone, renames another' {
    $plugin = New-Plugin
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'library'
    Write-Text "$($plugin.folder)/CCGPlugin/Events.man" '<x/>'
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal (Read-Text $plugin.data.target) 'library'
    Assert-Equal $fakePc.deeds @("wevtutil.exe im $(Join-Path "$($plugin.folder)/CCGPlugin" 'Events.man')", 'HKLM:\A (default) String text', 'HKLM:\A AccessPermission Binary bytes of O:BA')
    $before = (Get-Item $plugin.data.target).LastWriteTimeUtc.AddDays(-1)
    (Get-Item $plugin.data.target).LastWriteTimeUtc = $before
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal (Get-Item $plugin.data.target).LastWriteTimeUtc $before
    $was = (Get-Digest $plugin.data.target 'SHA256').Substring(0, 8)
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'newer'
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal @($plugin.data.target, "$($plugin.data.target).$was" | ForEach-Object { Read-Text $_ }) @('newer', 'library')
    # A full disk takes no library away, and what a power failure may lose has no name yet.
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'newest'
    foreach ($full in { function Copy-Item { throw 'full' }; Install-Plugin $plugin.data $plugin.folder }, { function Sync-File { throw 'full' }; Install-Plugin $plugin.data $plugin.folder }) {
        Assert-Throws $full '^full$'
        Assert-Equal (Read-Text $plugin.data.target) 'newer'
    }
}

Add-Type -TypeDefinition 'namespace Fenestra { public static class Privilege { public static string Did = ""; public static int Answer;
public static int RtlAdjustPrivilege(int privilege, bool enable, bool thread, out bool before) { before = false; Did += " " + privilege + (enable ? "+" : "-"); return Answer; } } }'
Test 'a class is added by its own right, and the key given back, also where that fails' {
    foreach ($breaks in $false, $true) {
        Reset-Pc @{ registry = @{ 'SOFTWARE\Allowed' = @{} }; breaks = $breaks }
        [Fenestra.Privilege]::Did = ''
        try { Add-AllowedClass 'SOFTWARE\Allowed' '{C}' } catch { Add-Deed "$_" }
        Assert-Equal ([Fenestra.Privilege]::Did) ' 9+ 18+ 18- 9-'
        Assert-Equal $fakePc.deeds[0, 1] @('O:BA Owner by ReadPermissions, TakeOwnership', 'allow S-1-5-32-544 FullControl Allow by ReadPermissions, ChangePermissions')
        $made = 'make {C}'
        if ($breaks) { $made = '*no key*' }
        Assert-Equal @($fakePc.deeds -like $made).Count 1
        Assert-Equal @($fakePc.deeds -eq 'O:TI Owner, Access by ReadPermissions, ChangePermissions, TakeOwnership').Count 1
    }
    Assert-Throws { Open-Key 'SOFTWARE\None' 'ReadPermissions' } 'there is no key HKEY_LOCAL_MACHINE\\SOFTWARE\\None'
    [Fenestra.Privilege]::Answer = -1073741727
    Assert-Throws { Set-Privilege 9 $true } '^privilege 9 does not change: 0xc0000061$'
}
# The stage itself, without its download.
Set-Content -Path "$scripts/fetch-files.ps1" -Value 'function Install-Artifacts { param($Machine, $Stage) Add-Deed "installs $Stage"; throw "not downloaded" }'
foreach ($case in Read-Table @'
title|there|brings|deeds[]|error
takes the plug-in that the image brings|True|||
says what to do when neither image nor stack brings one||||choose an image that has it
registers nothing without the archive||True|installs ccg|not downloaded
'@) {
    Test $case.title {
        Reset-Pc
        if ($case.there) { $fakePc.registry["Allowed\$fakeClass"] = @{} }
        Assert-Ends { & "$scripts/install-ccg.ps1" -Machine (ConvertTo-Data @{ ccg = @{ folder = '/none'; allowedClasses = 'Allowed'; classId = $fakeClass; install = if ($case.brings) { @{ dll = 'plugin.dll' } } } }) } $case.error
        Assert-Equal $fakePc.deeds $case.deeds
    }
}
Complete-Tests
