# The gMSA plug-in: a wrong archive installs nothing, and what is registered is what COM and Windows read.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/install-ccg.ps1"

$fakeClass = '{CCC2A336-D7F3-4818-A213-272B7924213E}'
$allowed = "HKLM:\Allowed\$fakeClass"
$fakeDone = @{}
function Write-Log { $fakeDone.log += $args[0] }
# The registry of the fakes: keys that exist, and values as they are written.
function Test-Path {
    param($LiteralPath)
    if ($LiteralPath -notlike 'HKLM:*') {
        return Microsoft.PowerShell.Management\Test-Path -LiteralPath $LiteralPath
    }
    $fakeDone.made -contains $LiteralPath
}
function New-Item {
    param($Path, $ItemType, [switch] $Force)
    if ($Path -notlike 'HKLM:*') {
        return Microsoft.PowerShell.Management\New-Item -Path $Path -ItemType $ItemType -Force:$Force
    }
    $fakeDone.made += $Path
}
function Get-ItemProperty {
    param([Parameter()] $LiteralPath)
    if ($LiteralPath -eq 'HKLM:\Windows') { [PSCustomObject] @{ '(default)' = 'text' } }
}
function New-ItemProperty {
    param($LiteralPath, $Name, $PropertyType, $Value, [switch] $Force)
    $fakeDone.written += "$LiteralPath|$Name|$PropertyType|$Value"
}
function ConvertTo-Descriptor {
    param($Sddl)
    "bytes of $Sddl"
}
function Invoke-Program {
    param($Path, $Arguments)
    $fakeDone.programs += "$Path $($Arguments[0]) $(Split-Path -Leaf $Arguments[1])"
    if ($fakeDone.breaks) { throw 'made to fail' }
}

function New-Plugin {
    $folder = Join-Path $temp ([Guid]::NewGuid())
    New-Item -ItemType Directory -Force -Path "$folder/CCGPlugin" | Out-Null
    Set-Values $fakeDone @{ log = @(); made = @(); written = @(); programs = @(); breaks = $false }
    @{
        folder = $folder
        data   = ConvertTo-Data @{
            dll      = 'plugin.dll'
            target   = "$folder/installed.dll"
            registry = @(
                @{ path = 'HKLM:\A'; name = ''; type = 'String'; value = 'text' }
                @{ path = 'HKLM:\A'; name = 'AccessPermission'; type = 'Sddl'; value = 'O:BA' }
            )
        }
    }
}

Test 'leaves a value of Windows alone that is right already, and writes one that is missing or another' {
    New-Plugin
    Set-RegistryValue @{ path = 'HKLM:\Windows'; name = ''; type = 'String'; value = 'text' }
    Assert-Equal $fakeDone.written @()
    Set-RegistryValue @{ path = 'HKLM:\Windows'; name = ''; type = 'String'; value = 'other' }
    Set-RegistryValue @{ path = 'HKLM:\Windows'; name = 'DllSurrogate'; type = 'String'; value = '' }
    Assert-Equal $fakeDone.written @('HKLM:\Windows|(default)|String|other', 'HKLM:\Windows|DllSurrogate|String|')
}
Test 'puts the library in place, wherever the archive has it, and registers it' {
    $plugin = New-Plugin
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'library'
    Write-Text "$($plugin.folder)/CCGPlugin/Events.man" '<x/>'
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal (Read-Text $plugin.data.target) 'library'
    Assert-Equal $fakeDone.made @('HKLM:\A')
    Assert-Equal $fakeDone.written @('HKLM:\A|(default)|String|text', 'HKLM:\A|AccessPermission|Binary|bytes of O:BA')
    Assert-Equal $fakeDone.programs @('wevtutil.exe im Events.man')
}

Test 'leaves a library alone that is the same already: it may be in use' {
    $plugin = New-Plugin
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'library'
    Write-Text $plugin.data.target 'library'
    $before = (Get-Item -LiteralPath $plugin.data.target).LastWriteTimeUtc.AddDays(-1)
    (Get-Item -LiteralPath $plugin.data.target).LastWriteTimeUtc = $before
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal (Get-Item -LiteralPath $plugin.data.target).LastWriteTimeUtc $before
}

Test 'gives a library that is another one, and may be in use, another name' {
    $plugin = New-Plugin
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'library'
    Write-Text $plugin.data.target 'old'
    $was = (Get-Digest $plugin.data.target 'SHA256').Substring(0, 8)
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal @($plugin.data.target, "$($plugin.data.target).$was" | ForEach-Object { Read-Text $_ }) @('library', 'old')
}

Test 'goes on without event texts, and says so' {
    $plugin = New-Plugin
    Write-Text "$($plugin.folder)/CCGPlugin/plugin.dll" 'library'
    Write-Text "$($plugin.folder)/CCGPlugin/Events.man" '<x/>'
    $fakeDone.breaks = $true
    Install-Plugin $plugin.data $plugin.folder
    Assert-Equal $fakeDone.written.Count 2
    Assert-Equal $fakeDone.log @('event manifest Events.man not installed: made to fail')
}

Test 'refuses an archive without the library' {
    $plugin = New-Plugin
    Assert-Throws { Install-Plugin $plugin.data $plugin.folder } 'has no plugin.dll'
    Assert-Equal $fakeDone.written.Count 0
}

# The stage itself, without its download.
Set-Content -Path "$scripts/fetch-files.ps1" -Value @(
    'function Install-Artifacts { param($Machine, $Stage) $fakeDone.log += "installs $Stage"; if ($fakeDone.breaks) { throw "not downloaded" } }'
)
function New-Machine {
    param($Install)
    ConvertTo-Data @{ ccg = @{ folder = '/none'; allowedClasses = 'Allowed'; classId = $fakeClass; install = $Install } }
}

Test 'takes the plug-in that the image brings' {
    New-Plugin
    $fakeDone.made = @($allowed)
    & "$scripts/install-ccg.ps1" -Machine (New-Machine $null)
    Assert-Equal $fakeDone.log @()
}

Test 'says what to do when neither the image nor the stack brings one' {
    New-Plugin
    Assert-Throws { & "$scripts/install-ccg.ps1" -Machine (New-Machine $null) } 'choose an image that has it'
}

Test 'registers nothing when the archive was not fetched' {
    New-Plugin
    $fakeDone.breaks = $true
    Assert-Throws { & "$scripts/install-ccg.ps1" -Machine (New-Machine @{ dll = 'plugin.dll' }) } 'not downloaded'
    Assert-Equal $fakeDone.log @('installs ccg')
    Assert-Equal $fakeDone.made @()
}

Complete-Tests
