# What is asked of HNS and what is made of its answers, also while it restarts and with several networks side by side.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/hns.ps1"
. "$PSScriptRoot/log-fake.ps1"

$hns = @{ text = ''; calls = @() }
[Fenestra.Hns]::Answer = {
    param($Method, $Path, $Body)
    $hns.calls += "$Method $Path $Body"
    $hns.text
}
$two = '{"Success":true,"Output":[{"ID":"a","Name":"nat","Type":"NAT"},{"ID":"b","Name":"flannel.4096","Type":"Overlay","ManagementIP":"10.0.0.7"}]}'

Test 'a call goes out as it is, and its output comes back item by item' {
    $hns.text = $two
    $hns.calls = @()
    Assert-Equal @(Invoke-Hns GET '/networks/' | ForEach-Object { $_.ID }) @('a', 'b')
    Invoke-Hns POST '/networks/' '{"Name":"flannel.4096"}'
    Assert-Equal $hns.calls @('GET /networks/ ', 'POST /networks/ {"Name":"flannel.4096"}')
}
Test 'a refusal is told with the call and the words of HNS' {
    $hns.text = '{"Success":false,"Error":"An adapter was not found.","ErrorCode":2151350278}'
    Assert-Throws { Invoke-Hns POST '/networks/' '{}' } '^HNS POST /networks/: An adapter was not found\. .*2151350278'
}
Test 'HNS that restarts gives no answer, which is said' {
    $hns.text = ''
    Assert-Throws { Invoke-Hns GET '/networks/' } '^HNS GET /networks/: no answer$'
    Assert-Throws { Get-HnsNetworkNamed 'flannel.4096' } 'no answer$'
}
Test 'HNS that hangs is told with the call, after a minute' {
    $answer = [Fenestra.Hns]::Answer
    try {
        [Fenestra.Hns]::Answer = {
            throw (New-Object TimeoutException 'no answer within 60000 ms')
        }
        Assert-Throws { Invoke-Hns GET '/networks/' } '^HNS GET /networks/: no answer within 60000 ms$'
    }
    finally {
        [Fenestra.Hns]::Answer = $answer
    }
}
Test 'C# is compiled once for all processes, again where its file is torn, and by each for itself where it cannot be written' {
    $source = 'namespace Fenestra { public static class Once { public static int Two() { return 2; } } }'
    Import-Source 'once' $source
    Assert-Equal ([Fenestra.Once]::Two()) 2
    $file = "$scripts/$((Get-ChildItem -Name -Path $scripts -Filter 'once-*.dll'))"
    $whole = [IO.File]::ReadAllBytes($file)
    $compiled = @{ for = @(); fails = $false }
    function Add-Type {
        param($TypeDefinition, $OutputAssembly, $OutputType)
        if ($OutputAssembly -and $compiled.fails) { throw 'no room' }
        $compiled.for += "$OutputType"
        if ($OutputAssembly) { [IO.File]::WriteAllBytes($OutputAssembly, $whole) }
    }
    Import-Source 'once' $source
    Assert-Equal $compiled.for @()
    foreach ($torn in (New-Object byte[] 99), [byte[]] (77, 90, 1)) {
        [IO.File]::WriteAllBytes($file, $torn)
        Import-Source 'once' $source
        Assert-Equal ([IO.File]::ReadAllBytes($file).Length) $whole.Length
    }
    $compiled.fails = $true
    Import-Source 'once' "$source "
    Assert-Equal $compiled.for @('Library', 'Library', '')
    Assert-Equal @(Get-ChildItem -Name -Path $scripts -Filter '*.dll').Count 1
}
foreach ($case in Read-Table @'
title|output|found
beside the one of Windows itself|{"ID":"a","Name":"nat"},{"ID":"b","Name":"flannel.4096"}|b
not, after a restart of HNS that left the one of Windows itself|{"ID":"a","Name":"nat"}|
not, in a list without items||
once, where two have its name|{"ID":"a","Name":"flannel.4096"},{"ID":"b","Name":"flannel.4096"}|a
'@) {
    Test "the pod network is found $($case.title)" {
        $hns.text = "{`"Success`":true,`"Output`":[$($case.output)]}"
        Assert-Equal (Get-HnsNetworkNamed 'flannel.4096').ID $case.found
    }
}
Complete-Tests
