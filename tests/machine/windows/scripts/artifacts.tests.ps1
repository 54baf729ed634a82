# Downloads: wrong digest, mirror down, nothing in place before it is checked.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/fetch-files.ps1"

# curl as a process; the web of the fakes: address to text; an address without text does not answer.
$fakeDownload = {
    $url = $args[0][-1]
    $path = "$($args[0][-2])".Trim('"')
    $fakePc.fetched += $url
    Write-Text "$($args[0][-4])".Trim('"') 'curl: (22) The requested URL returned error: 404'
    $kept = Test-Path $path
    if ($kept) { $fakePc.wasKept = $true }
    if ($fakePc.noRange -and $kept) { return 33 }
    if ($fakePc.cut) {
        $fakePc.cut = $false
        Write-Text $path 'ri'
        return 18
    }
    if (-not $fakePc.web.ContainsKey($url)) { return 22 }
    Write-Text $path $fakePc.web[$url]
    0
}
$fakePrograms = @{
    'tar.exe'  = {
        if ($args[0][0] -eq '-tzf') { return 'bin/', 'bin/shim.exe', 'LICENSE' }
        Add-Deed 'unpack'
        New-Folder "$($args[0][3])/bin"
        Write-Text "$($args[0][3])/bin/shim.exe" 'MZ'
    }
    'curl.exe' = {
        $url = $args[0][-1]
        Assert-Equal $args[0] @('--fail', '--proto-redir', '=https', $url)
        if (-not $fakePc.web.ContainsKey($url)) { throw "no answer from $url" }
        $fakePc.web[$url]
    }
}
function Invoke-Artifacts { & "$scripts/fetch-artifacts.ps1" -Machine $args[0] }

# One artifact `a.exe` with the text `right`, and one archive, both with a mirror and a publisher.
function New-Case {
    param($Answers = @{})
    Reset-Pc @{ web = @{} + $Answers; fetched = @(); cut = $false; noRange = $false; wasKept = $false; programs = $fakePrograms; starts = @{ 'curl.exe' = $fakeDownload } }
    $machine = New-Data 'curl[] --fail'
    $machine.artifacts = @(foreach ($name in 'a.exe', 'b') {
        @{
            name         = $name
            file         = "1-$name"
            urls         = @("https://mirror/$name", "https://publisher/$name")
            algorithm    = 'sha256'
            digest       = Get-TextDigest 'right'
            checksumUrls = @()
            folder       = "$($machine.folder)/bin"
            unpack       = $name -eq 'b'
            stage        = 'artifacts'
        }
    })
    $machine
}

$fromMirror = @{ 'https://mirror/a.exe' = 'right'; 'https://mirror/b' = 'right' }
# What answers at the mirror and the publisher, what is asked and in place then.
foreach ($case in Read-Table @'
title|web|set|fetched|a|b|told|error
the mirror answers: the publisher is not asked|m/a.exe=right m/b=right||m/a.exe m/b|right|1||
a transfer that was cut goes on where it was|p/a.exe=right m/b=right|cut=1|m/a.exe m/b p/a.exe|right|1||
a server that cannot go on sends anew, at once|p/a.exe=right m/b=right|cut=1 noRange=1|m/a.exe m/b p/a.exe p/a.exe|right|1||
the mirror is down: the publisher is asked|p/a.exe=right p/b=right||m/a.exe m/b p/a.exe p/b|right|1|a.exe: curl ended with 22 'curl: (22) The requested URL returned error: 404', digest *|
a wrong digest: nothing is installed, and the file removed|m/a.exe=right m/b=forged p/b=forged||m/a.exe m/b p/b m/b p/b||0||not downloaded: b$
'@) {
    Test $case.title {
        $machine = New-Case
        Set-Values $fakePc.web ("$($case.web)" -replace '\bm/', 'https://mirror/' -replace '\bp/', 'https://publisher/')
        Set-Values $fakePc "$($case.set)"
        Assert-Ends { Invoke-Artifacts $machine } $case.error
        Assert-Equal ($fakePc.fetched -replace 'https://(.)[a-z]+/', '$1/' -join ' ') $case.fetched
        Assert-Equal @((Read-Text "$($machine.folder)/bin/a.exe"), @($fakePc.deeds -eq 'unpack').Count) @("$($case.a)", $case.b)
        if ($case.set) { Assert-True $fakePc.wasKept }
        Assert-Equal $fakePc.slept @(if ($case.error) { 30 })
        if ($case.told) { Assert-True (@($fakePc.log -like $case.told).Count -gt 0) }
        # Of b the archive stays.
        Assert-Equal @(Get-ChildItem -File -Name $machine.paths.downloads) @(if ($case.error) { '1-a.exe' } else { '1-b' })
    }
}
Test 'without a digest the checksum file of mirror or publisher decides' {
    $machine = New-Case $fromMirror
    $machine.artifacts = @($machine.artifacts[0])
    $machine.artifacts[0].digest = ''
    $machine.artifacts[0].checksumUrls = @('https://mirror/a.exe.sha256', 'https://publisher/a.exe.sha256')
    Assert-Throws { Invoke-Artifacts $machine } 'no checksum file answers'
    $fakePc.web['https://publisher/a.exe.sha256'] = "$(Get-TextDigest 'other')  a.exe"
    Assert-Throws { Invoke-Artifacts $machine } 'not downloaded: a.exe$'
    $fakePc.web['https://publisher/a.exe.sha256'] = "$(Get-TextDigest 'other')  b`n$(Get-TextDigest 'right')  a.exe"
    Invoke-Artifacts $machine
    Assert-Equal (Read-Text "$($machine.folder)/bin/a.exe") 'right'
}
Test 'what is in place as it was verified needs neither archive nor publisher' {
    $machine = New-Case $fromMirror
    Invoke-Artifacts $machine
    Remove-Item "$($machine.paths.downloads)/1-b"
    $fakePc.web.Clear()
    Set-Values $fakePc @{ deeds = @(); fetched = @() }
    Assert-True (Test-Whole $machine 'artifacts')
    Invoke-Artifacts $machine
    Assert-Equal ($fakePc.deeds + $fakePc.fetched) @()
    Write-Text "$($machine.folder)/bin/bin/shim.exe" 'torn'
    Assert-False (Test-Whole $machine 'artifacts')
    Assert-Throws { Invoke-Artifacts $machine } 'not downloaded: b$'
}
Test 'running programs, shims of pods too, are ended only when replaced' {
    $machine = New-Case $fromMirror
    $program, $shim = 'a.exe', 'bin/shim.exe' | ForEach-Object { [IO.Path]::GetFullPath("$($machine.folder)/bin/$_") }
    New-Folder "$($machine.folder)/bin"
    Write-Text $program 'old'
    $fakePc.processes = @(foreach ($path in $program, $shim) { New-Fake @{ Path = $path; Id = 7 } @{ WaitForExit = { return } } }) + @($null, "$shim.other" | ForEach-Object { [PSCustomObject] @{ Path = $_; Id = 8 } })
    Invoke-Artifacts $machine
    Assert-Equal $fakePc.deeds @("end $program", "end $shim", 'unpack')
    Assert-Equal (Read-Text $program) 'right'
    $machine.artifacts = @($machine.artifacts[0])
    Set-Values $fakePc @{ deeds = @(); fetched = @() }
    Invoke-Artifacts $machine
    Assert-Equal ($fakePc.deeds + $fakePc.fetched) @()
    # On the disk once.
    Assert-Equal @(Get-ChildItem -File -Name $machine.paths.downloads) @('1-b')
}
Test 'neither what lies there from before nor what was verified then stands for the lock''s digest' {
    $machine = New-Case $fromMirror
    Write-Text "$($machine.paths.downloads)/1-a.exe" 'half'
    Invoke-Artifacts $machine
    Assert-Equal (Read-Text "$($machine.folder)/bin/a.exe") 'right'
    foreach ($artifact in $machine.artifacts) { $artifact.digest = Get-TextDigest 'newer' }
    Set-Values $fakePc @{ deeds = @(); web = @{ 'https://mirror/a.exe' = 'newer'; 'https://mirror/b' = 'newer' } }
    Assert-False (Test-Whole $machine 'artifacts')
    Invoke-Artifacts $machine
    Assert-Equal @((Read-Text "$($machine.folder)/bin/a.exe"), $fakePc.deeds) @('newer', @('unpack'))
}
foreach ($lost in '1-a.exe', '1-b', 'shim.exe') {
    Test "what power may still take of $lost has no record" {
        $machine = New-Case $fromMirror
        function Sync-File { if ($args[0] -like "*$lost") { throw 'full' } }
        Assert-Throws { Invoke-Artifacts $machine } '^full$'
        Assert-False (Test-Path "$($machine.paths.downloads)/kept/1-$(if ($lost -eq '1-a.exe') { 'a.exe' } else { 'b' }).json")
        Assert-Equal (Test-Path "$($machine.folder)/bin/a.exe") ($lost -ne '1-a.exe')
    }
}
Complete-Tests
