# A test runner in a few lines: no module has to be installed.
$ErrorActionPreference = 'Stop'
$temp = Join-Path ([IO.Path]::GetTempPath()) "fenestra-test-$([Guid]::NewGuid())"
# As on a node: the shared scripts and those of the pod network in one folder.
$scripts = Join-Path $temp 'scripts-of-a-node'
New-Item -ItemType Directory -Path $scripts | Out-Null
if (-not $podNetwork) { $podNetwork = 'flannel' }
$components = "$PSScriptRoot/../../../../components"
# With COVERAGE the scripts come from there, with a counter in front of each statement.
$source = $components
if ($env:COVERAGE) { $source = "$env:COVERAGE/components" }
foreach ($folder in 'machine/windows/scripts', "podNetworks/$podNetwork") {
    Get-ChildItem -Filter *.ps1 -LiteralPath "$source/$folder" | Copy-Item -Destination $scripts
}
Copy-Item -LiteralPath "$components/machine/secret-patterns.txt" -Destination $scripts
$onWindows = [IO.Path]::DirectorySeparatorChar -eq '\'
$shell = (Get-Process -Id $PID).Path
$results = @{ passed = 0; failed = 0 }

# Runs one test, drops what it returns, and tells and counts its failure.
function Test {
    param($Name, $Body)
    try {
        & $Body | Out-Null
        $results.passed += 1
        Write-Host "ok $Name"
    }
    catch {
        $results.failed += 1
        Write-Host "FAILED ${Name}: $_"
        Write-Host $_.ScriptStackTrace
    }
}

# A program made of a text of PowerShell, first on PATH; returns its path.
function New-Program {
    param($Name, $Text)
    $bin = "$temp/bin"
    New-Item -ItemType Directory -Force -Path $bin | Out-Null
    Set-Content -Path "$bin/$Name.ps1" -Value $Text
    $call = "`"$shell`" -NoProfile -NonInteractive -ExecutionPolicy Bypass -File `"$bin/$Name.ps1`""
    if ($onWindows) {
        Set-Content -Path "$bin/$Name.cmd" -Value "@$call %*"
        return "$bin/$Name.cmd"
    }
    Set-Content -Path "$bin/$Name" -Value @('#!/bin/sh', "exec $call `"`$@`"")
    & chmod 0755 "$bin/$Name"
    if (-not $env:PATH.StartsWith($bin)) {
        $env:PATH = "${bin}:$env:PATH"
    }
    "$bin/$Name"
}

# A value without what Get-Content ties to its lines, which Windows PowerShell would write into the JSON.
function Get-Plain {
    param($Value)
    if ($Value -is [string]) { return -join $Value.ToCharArray() }
    if ($Value -is [array]) {
        return , @(foreach ($item in $Value) { Get-Plain $item })
    }
    $Value
}

# Compares as JSON: arrays and tables by their contents.
function Assert-Equal {
    param($Actual, $Expected)
    $left = ConvertTo-Json -Depth 10 -Compress -InputObject (Get-Plain $Actual)
    $right = ConvertTo-Json -Depth 10 -Compress -InputObject (Get-Plain $Expected)
    if ($left -cne $right) { throw "is $left, expected $right" }
}

function Assert-True { Assert-Equal $args[0] $true }
function Assert-False { Assert-Equal $args[0] $false }

function Assert-Throws {
    param($Body, $Pattern)
    try {
        & $Body | Out-Null
    }
    catch {
        if ("$_" -notmatch $Pattern) { throw "failed with '$_', expected '$Pattern'" }
        return
    }
    throw "did not fail, expected '$Pattern'"
}

# What a block says, or with a pattern that it fails so.
function Assert-Ends {
    param($Body, $Pattern)
    if ($Pattern) { Assert-Throws $Body $Pattern } else { & $Body }
}

function Get-TextDigest {
    param($Text)
    [BitConverter]::ToString([Security.Cryptography.SHA256]::Create().ComputeHash([Text.Encoding]::UTF8.GetBytes($Text))).Replace('-', '').ToLowerInvariant()
}

# A node's certificate, good for some hours, and the end of a key. .NET makes it, which 5.1 has from 4.7.2 on.
function New-Pem {
    param($Name = 'i-0123456789abcdef0', $Hours = 24)
    $key = [Security.Cryptography.RSA]::Create(2048)
    $request = New-Object Security.Cryptography.X509Certificates.CertificateRequest "O=system:nodes, CN=system:node:$Name", $key, ([Security.Cryptography.HashAlgorithmName]::SHA256), ([Security.Cryptography.RSASignaturePadding]::Pkcs1)
    $made = $request.CreateSelfSigned([DateTimeOffset]::UtcNow.AddDays(-1), [DateTimeOffset]::UtcNow.AddHours($Hours))
    "-----BEGIN CERTIFICATE-----`n$([Convert]::ToBase64String($made.RawData))`n-----END CERTIFICATE-----`n-----END PRIVATE KEY-----"
}

# Data as the scripts get it, by way of JSON.
function ConvertTo-Data {
    param($Table)
    $Table | ConvertTo-Json -Depth 10 | ConvertFrom-Json
}

# An object with these properties and methods.
function New-Fake {
    param($Properties, $Methods)
    $made = [PSCustomObject] $Properties
    # Not by Add-Member, which takes milliseconds.
    foreach ($method in $Methods.GetEnumerator()) { $made.PSObject.Methods.Add((New-Object Management.Automation.PSScriptMethod $method.Key, $method.Value)) }
    $made
}

# A text of a table as a value: numbers, True and False are such, nothing is $null; where the name ends with [] it is a
# list, with a comma between its items.
function Get-Value {
    param($Name, $Text)
    if ($Name.EndsWith('[]')) { return , @("$Text" -split ', ' -ne '') }
    if ('True', 'False' -ccontains $Text) { return $Text -eq 'True' }
    if ($Text -match '^-?\d+$') { return [int] $Text }
    if ($Text -ne '') { return $Text }
    $null
}
# The files of a machine of a pool that has all that one may have, and the text of one whose paths are on this drive.
$payload = Get-Content -Raw -Encoding UTF8 $env:PAYLOAD | ConvertFrom-Json
function Get-DriveText {
    param($Drive, $Path)
    [Regex]::Replace($payload.$Path, 'C:((?:\\\\[^"\\,]*)+)', { param($match) $Drive + $match.Groups[1].Value.Replace('\\', '/') })
}
# That machine's data, whose drive is a folder of its own, FOLDER, with what lines say: each has a path, such as
# `paths.state`, and a value, or JSON.
function New-Data {
    param($Text)
    $folder = "$temp/$([Guid]::NewGuid())".Replace('\', '/')
    New-Item -ItemType Directory -Path $folder | Out-Null
    $data = Get-DriveText $folder 'C:\fenestra\machine.json' | ConvertFrom-Json
    foreach ($line in "folder FOLDER`n$Text".Replace('FOLDER', $folder).Trim() -split '\r?\n') {
        $path, $value = $line -split ' ', 2
        $names = $path.TrimEnd('[', ']') -split '\.'
        $at = $data
        foreach ($name in $names | Select-Object -SkipLast 1) {
            if (-not $at.$name) { $at | Add-Member -Force $name ([PSCustomObject] @{}) }
            $at = $at.$name
        }
        if ($value -match '^[[{]') { $value = (ConvertFrom-Json "{`"json`":$value}").json } else { $value = Get-Value $path $value }
        $at | Add-Member -Force $names[-1] $value
    }
    $data
}
# Rows of a table in a text, whose first line has the names of columns, between bars.
function Read-Table {
    param($Text)
    $names, $rows = @($Text -split '\r?\n')
    foreach ($row in $rows) {
        $values = $row -split '\|'
        $table = @{}
        foreach ($name in $names -split '\|') {
            $value, $values = $values
            $table[$name.TrimEnd('[', ']')] = Get-Value $name $value
        }
        $table
    }
}

# Gives a table of fakes these values; as a text they are words such as `name=value`.

function Set-Values {
    param($Table, $Values)
    if ($Values -is [hashtable]) { foreach ($value in $Values.GetEnumerator()) { $Table[$value.Key] = $value.Value } }
    else { foreach ($word in -split $Values) { $Table[($word -split '=')[0]] = ($word -split '=', 2)[1] } }
}

# Last line and exit code of a test script.
function Complete-Tests {
    Remove-Item -Recurse -Force -LiteralPath $temp -ErrorAction SilentlyContinue
    Write-Host "$($results.passed) passed, $($results.failed) failed"
    if ($results.failed -gt 0 -or $results.passed -eq 0) { exit 1 }
    exit 0
}
