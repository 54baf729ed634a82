# The sample's download of LogMonitor: wrong digest, mirror down, no digest recorded.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/../../../../components/kubernetes/samples/logMonitor.ps1"

# Address to text; an address without text does not answer.
$fakeWeb = @{}
$fakeDone = @{ fetched = @() }
function Invoke-Curl {
    param($Arguments)
    $url = $Arguments[-1]
    $fakeDone.fetched += $url
    if (-not $fakeWeb.ContainsKey($url)) { return $false }
    Set-Content -NoNewline $Arguments[-2] -Value $fakeWeb[$url]
    $true
}

$fakePath = Join-Path $temp 'LogMonitor.exe'
Set-Content -NoNewline $fakePath -Value 'right'
$right = (Get-FileHash -Algorithm SHA256 $fakePath).Hash.ToLowerInvariant()

foreach ($case in Read-Table @'
title|mirror|publisher|fetched|error
takes the file from the mirror when its digest is right|right|right|https://mirror/f|
passes over a mirror's other file|wrong|right|https://mirror/f https://publisher/f|
passes over a mirror that is down||right|https://mirror/f https://publisher/f|
leaves no file when no source has it|wrong||https://mirror/f https://publisher/f|LogMonitor.exe was not fetched
'@) {
    Test $case.title {
        Remove-Item -Force $fakePath -ErrorAction SilentlyContinue
        $fakeDone.fetched = @()
        $fakeWeb.Clear()
        foreach ($source in 'mirror', 'publisher') { if ($case.$source) { $fakeWeb["https://$source/f"] = $case.$source } }
        $save = { Save-File @('--fail') @('https://mirror/f', 'https://publisher/f') $right $fakePath }
        Assert-Ends $save $case.error
        Assert-Equal @(Get-ChildItem -File $temp | ForEach-Object { Get-Content -Raw $_.FullName }) @('right' | Where-Object { -not $case.error })
        Assert-Equal ($fakeDone.fetched -join ' ') $case.fetched
    }
}
foreach ($case in Read-Table @'
title|recorded|answer|error
the recorded one, and asks nobody|RIGHT||
what the publisher tells of this file||{"name":"x.exe","digest":"sha256:0"},{"name":"LogMonitor.exe","digest":"sha256:RIGHT"}|
no file of unknown digest||{"name":"LogMonitor.exe","digest":null}|nobody tells the SHA-256
'@.Replace('RIGHT', $right)) {
    Test "expects $($case.title)" {
        Remove-Item -Force $fakePath -ErrorAction SilentlyContinue
        $fakeDone.fetched = @()
        $fakeWeb.Clear()
        $fakeWeb['https://api/r'] = "{`"assets`":[$($case.answer)]}"
        $ask = { Get-Expected @() "$($case.recorded)" @('https://down/r', 'https://api/r') 'LogMonitor.exe' $temp }
        if ($case.error) { Assert-Throws $ask $case.error } else { Assert-Equal (& $ask) $right }
        Assert-Equal ([bool] $fakeDone.fetched) (-not $case.recorded)
        Assert-Equal @(Get-ChildItem -File $temp).Count 0
    }
}
Complete-Tests
