# The sample's download of LogMonitor: wrong digest, mirror down.
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
        Assert-Ends { Save-File @('--fail') @('https://mirror/f', 'https://publisher/f') $right $fakePath } $case.error
        Assert-Equal @(Get-ChildItem -File $temp | ForEach-Object { Get-Content -Raw $_.FullName }) @('right' | Where-Object { -not $case.error })
        Assert-Equal ($fakeDone.fetched -join ' ') $case.fetched
    }
}
Complete-Tests
