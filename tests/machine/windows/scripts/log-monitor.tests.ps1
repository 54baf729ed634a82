# The sample's download of LogMonitor: wrong digest, mirror down, no digest recorded.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/../../../../components/kubernetes/samples/logMonitor.ps1"

# Address to text; an address without text does not answer.
$fakeWeb = @{}
$fakeDone = @{ fetched = @() }
function Invoke-Curl {
    param([string[]] $Arguments)
    $url = $Arguments[-1]
    $fakeDone.fetched += $url
    if (-not $fakeWeb.ContainsKey($url)) { return $false }
    Set-Content -NoNewline -LiteralPath $Arguments[-2] -Value $fakeWeb[$url]
    $true
}

$fakePath = Join-Path $temp 'LogMonitor.exe'
Set-Content -NoNewline -LiteralPath $fakePath -Value 'right'
$right = (Get-FileHash -Algorithm SHA256 -LiteralPath $fakePath).Hash.ToLowerInvariant()

function New-Case {
    param([hashtable] $Answers)
    Remove-Item -Force -LiteralPath $fakePath -ErrorAction SilentlyContinue
    $fakeDone.fetched = @()
    $fakeWeb.Clear()
    Set-Values $fakeWeb $Answers
}

Test 'takes the file from the mirror when its digest is right' {
    New-Case @{ 'https://mirror/f' = 'right'; 'https://publisher/f' = 'right' }
    Save-File @('--fail') @('https://mirror/f', 'https://publisher/f') $right $fakePath
    Assert-Equal (Get-Content -Raw -LiteralPath $fakePath) 'right'
    Assert-Equal $fakeDone.fetched @('https://mirror/f')
}

Test 'passes over a mirror that is down or has another file' {
    New-Case @{ 'https://mirror/f' = 'wrong'; 'https://publisher/f' = 'right' }
    Save-File @() @('https://down/f', 'https://mirror/f', 'https://publisher/f') $right $fakePath
    Assert-Equal (Get-Content -Raw -LiteralPath $fakePath) 'right'
}

Test 'leaves no file behind when no source has the right one' {
    New-Case @{ 'https://mirror/f' = 'wrong' }
    Assert-Throws { Save-File @() @('https://mirror/f') $right $fakePath } 'LogMonitor.exe was not fetched'
    Assert-Equal @(Get-ChildItem -File -LiteralPath $temp).Count 0
}

Test 'asks nobody when the digest is recorded' {
    New-Case @{}
    Assert-Equal (Get-Expected @() $right @('https://api/r') 'LogMonitor.exe' $temp) $right
    Assert-Equal $fakeDone.fetched.Count 0
}

Test 'reads the digest that the publisher tells of this file, and of no other' {
    New-Case @{ 'https://api/r' = "{`"assets`":[{`"name`":`"x.exe`",`"digest`":`"sha256:$('0' * 64)`"},{`"name`":`"LogMonitor.exe`",`"digest`":`"sha256:$right`"}]}" }
    Assert-Equal (Get-Expected @() '' @('https://down/r', 'https://api/r') 'LogMonitor.exe' $temp) $right
    Assert-Equal @(Get-ChildItem -File -LiteralPath $temp).Count 0
}

Test 'goes on with no file of unknown digest' {
    New-Case @{ 'https://api/r' = '{"assets":[{"name":"LogMonitor.exe","digest":null}]}' }
    Assert-Throws { Get-Expected @() '' @('https://api/r') 'LogMonitor.exe' $temp } 'nobody tells the SHA-256'
}

Complete-Tests
