# Downloads: wrong digest, mirror down, nothing in place before it is checked.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/fetch-files.ps1"

# The web of the fakes: address to text; an address without text does not answer.
$fakeWeb = @{}
$fakeDone = @{}
function Write-Log { $fakeDone.told += $args[0] }
# What runs on the machine: path of the program, and whether it was ended.
$processes = @()
function Start-Sleep {
    param($Seconds)
    $fakeDone.told += "pause of $Seconds s"
}
function Get-Process { $processes }
function Stop-Process {
    param([switch] $Force, $InputObject)
    $fakeDone.ended += $InputObject.Path
}
function Start-Process {
    param($FilePath, $ArgumentList, [switch] $PassThru, [switch] $NoNewWindow)
    $url = $ArgumentList[-1]
    $path = "$($ArgumentList[-2])".Trim('"')
    $fakeDone.fetched += $url
    $code = 22
    $words = "$($ArgumentList[-4])".Trim('"')
    Write-Text $words 'curl: (22) The requested URL returned error: 404'
    $fakeDone.kept = Test-Path -LiteralPath $path
    if ($fakeDone.kept) { $fakeDone.wasKept = $true }
    if ($fakeDone.noRange -and $fakeDone.kept) { $code = 33 }
    elseif ($fakeDone.cut) {
        $fakeDone.cut = $false
        Write-Text $path 'ri'
        $code = 18
    }
    elseif ($fakeWeb.ContainsKey($url)) {
        Write-Text $path $fakeWeb[$url]
        $code = 0
    }
    New-Fake @{ Handle = 1; ExitCode = $code } @{ WaitForExit = { return } }
}
function Invoke-Program {
    param($Path, $Arguments)
    if ($Path -eq 'tar.exe' -and $Arguments[0] -eq '-tzf') { return 'bin/', 'bin/shim.exe', 'LICENSE' }
    if ($Path -eq 'tar.exe') {
        $fakeDone.ended += 'unpack'
        New-Folder "$($Arguments[3])/bin"
        Write-Text "$($Arguments[3])/bin/shim.exe" 'MZ'
        $fakeDone.unpacked += $Arguments[1]
        return
    }
    $url = $Arguments[-1]
    Assert-Equal $Arguments @('--fail', '--proto-redir', '=https', $url)
    if (-not $fakeWeb.ContainsKey($url)) { throw "no answer from $url" }
    $fakeWeb[$url]
}
function Invoke-Artifacts { & "$scripts/fetch-programs.ps1" -Machine $args[0] }

# One artifact `a.exe` with the text `right`, and one archive, both with a mirror and a publisher.
function New-Case {
    param($Answers = @{})
    $fakeWeb.Clear()
    Set-Values $fakeWeb $Answers
    Set-Values $fakeDone @{ fetched = @(); unpacked = @(); ended = @(); told = @(); cut = $false; noRange = $false; wasKept = $false }
    $folder = "$temp/$([Guid]::NewGuid())"
    $artifacts = foreach ($name in 'a.exe', 'b') {
        @{
            name         = $name
            file         = "1-$name"
            urls         = @("https://mirror/$name", "https://publisher/$name")
            algorithm    = 'sha256'
            digest       = Get-TextDigest 'right'
            checksumUrls = @()
            folder       = "$folder/bin"
            unpack       = $name -eq 'b'
            stage        = 'artifacts'
        }
    }
    ConvertTo-Data @{ paths = @{ downloads = "$folder/downloads" }; curl = @('--fail'); artifacts = @($artifacts); folder = $folder }
}

$fromMirror = @{ 'https://mirror/a.exe' = 'right'; 'https://mirror/b' = 'right' }
# What answers at the mirror and the publisher, what lies there of a.exe before, what is asked and in place then.
foreach ($case in Read-Table @'
title|web|set|before|fetched|a|b|told|error
the mirror answers: the publisher is not asked|m/a.exe=right m/b=right|||m/a.exe m/b|right|1||
a transfer that was cut goes on where it was|p/a.exe=right m/b=right|cut=1||m/a.exe m/b p/a.exe|right|1||
a server that cannot go on sends the file anew, at once|p/a.exe=right m/b=right|cut=1 noRange=1||m/a.exe m/b p/a.exe p/a.exe|right|1||
the mirror is down: the publisher is asked|p/a.exe=right p/b=right|||m/a.exe m/b p/a.exe p/b|right|1|a.exe: curl ended with 22 'curl: (22) The requested URL returned error: 404', digest *|
a wrong digest: nothing is put in place or unpacked, and the file is removed|m/a.exe=right m/b=forged p/b=forged|||m/a.exe m/b p/b m/b p/b||0|pause of 30 s|not downloaded: b$
a repeat fetches only what is not right yet|m/b=right||right|m/b|right|1||
a download that was cut off is fetched anew|m/a.exe=right m/b=right||rig|m/a.exe m/b|right|1||
'@) {
    Test $case.title {
        $machine = New-Case
        Set-Values $fakeWeb ("$($case.web)" -replace '\bm/', 'https://mirror/' -replace '\bp/', 'https://publisher/')
        Set-Values $fakeDone "$($case.set)"
        New-Folder $machine.paths.downloads
        if ($case.before) { Write-Text "$($machine.paths.downloads)/1-a.exe" $case.before }
        $ask = { Invoke-Artifacts $machine }
        if ($case.error) { Assert-Throws $ask $case.error } else { & $ask }
        Assert-Equal ($fakeDone.fetched -replace 'https://(.)[a-z]+/', '$1/' -join ' ') $case.fetched
        Assert-Equal @((Read-Text "$($machine.folder)/bin/a.exe"), $fakeDone.unpacked.Count) @("$($case.a)", $case.b)
        if ($case.set) { Assert-True $fakeDone.wasKept }
        Assert-Equal @($fakeDone.told -like 'pause*').Count ([int] [bool] $case.error)
        if ($case.told) { Assert-True (@($fakeDone.told -like $case.told).Count -gt 0) }
        # Of b the archive stays.
        Assert-Equal @(Get-ChildItem -File -Name -LiteralPath $machine.paths.downloads) @(if ($case.error) { '1-a.exe' } else { '1-b' })
    }
}
Test 'without a digest the checksum file decides, of the mirror or of the publisher' {
    $machine = New-Case $fromMirror
    $machine.artifacts = @($machine.artifacts[0])
    $machine.artifacts[0].digest = ''
    $machine.artifacts[0].checksumUrls = @('https://mirror/a.exe.sha256', 'https://publisher/a.exe.sha256')
    Assert-Throws { Invoke-Artifacts $machine } 'no checksum file answers'
    $fakeWeb['https://publisher/a.exe.sha256'] = "$(Get-TextDigest 'other')  a.exe"
    Assert-Throws { Invoke-Artifacts $machine } 'not downloaded: a.exe$'
    $fakeWeb['https://publisher/a.exe.sha256'] = "$(Get-TextDigest 'right')  a.exe"
    Invoke-Artifacts $machine
    Assert-Equal (Read-Text "$($machine.folder)/bin/a.exe") 'right'
}
Test 'each stage fetches and places its own artifacts only' {
    $machine = New-Case $fromMirror
    $machine.artifacts[0].stage = 'programs'
    Invoke-Artifacts $machine
    Assert-Equal $fakeDone.fetched @('https://mirror/b')
    Assert-False (Test-Path "$($machine.folder)/bin/a.exe")
    & "$scripts/fetch-rest.ps1" -Machine $machine
    Assert-Equal $fakeDone.fetched @('https://mirror/b', 'https://mirror/a.exe')
    Assert-Equal (Read-Text "$($machine.folder)/bin/a.exe") 'right'
    Assert-False (Test-Path "$($machine.folder)/bin/a.exe.new")
}
Test 'a program that runs is ended before it is replaced, and left alone when it is the right one' {
    $machine = New-Case $fromMirror
    $machine.artifacts = @($machine.artifacts[0])
    $path = "$($machine.folder)/bin/a.exe"
    New-Folder "$($machine.folder)/bin"
    Write-Text $path 'old'
    $processes = @((New-Fake @{ Path = [IO.Path]::GetFullPath($path); Id = 7 } @{ WaitForExit = { return } }), [PSCustomObject] @{ Path = $null; Id = 8 })
    Invoke-Artifacts $machine
    Assert-Equal $fakeDone.ended @([IO.Path]::GetFullPath($path))
    Assert-Equal (Read-Text $path) 'right'
    $fakeDone.ended = @()
    $fakeDone.fetched = @()
    Invoke-Artifacts $machine
    Assert-Equal @($fakeDone.ended.Count, $fakeDone.fetched.Count) @(0, 0)
    # On the disk once.
    Assert-Equal @(Get-ChildItem -File -LiteralPath $machine.paths.downloads) @()
}
Test 'programs of an archive that run, like the shims of pods, are ended before it is unpacked' {
    $machine = New-Case $fromMirror
    $machine.artifacts = @($machine.artifacts[1])
    $path = [IO.Path]::GetFullPath("$($machine.folder)/bin/bin/shim.exe")
    $processes = @((New-Fake @{ Path = $path; Id = 7 } @{ WaitForExit = { return } }), [PSCustomObject] @{ Path = "$path.other"; Id = 8 })
    Invoke-Artifacts $machine
    Assert-Equal $fakeDone.ended @($path, 'unpack')
}
Complete-Tests
