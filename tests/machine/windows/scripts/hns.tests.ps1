# What is asked of HNS and what is made of its answers, also while it restarts and with several networks side by side.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/hns.ps1"

foreach ($case in Read-Table @'
title|answer|call|error
a refusal is told with the call and the words of HNS|{"Success":false,"Error":"An adapter was not found.","ErrorCode":2151350278}|POST|^HNS POST /networks/: An adapter was not found\. .*2151350278
HNS that restarts gives no answer, which is said||GET|^HNS GET /networks/: no answer$
HNS that hangs is told with the call, after a minute|hangs|GET|^HNS GET /networks/: HNS GET networks has not ended within 60 s$
'@) {
    Test $case.title {
        Reset-Pc @{ onHns = { $case.answer } }
        if ($case.answer -eq 'hangs') { Set-Values $fakePc @{ call = 'HNS*'; way = 'hangs' } }
        Assert-Throws { Invoke-Hns $case.call '/networks/' '{}' } $case.error
    }
}
Test 'C# is compiled once, again where torn, and by each process where unwritten' {
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
not, where HNS has left that of Windows alone|{"ID":"a","Name":"nat"}|
not, in a list without items||
once, where two have its name|{"ID":"a","Name":"flannel.4096"},{"ID":"b","Name":"flannel.4096"}|a
'@) {
    Test "the pod network is found $($case.title)" {
        Reset-Pc @{ onHns = { "{`"Success`":true,`"Output`":[$($case.output)]}" } }
        Assert-Equal (Get-HnsNetworkNamed 'flannel.4096').ID $case.found
    }
}
Complete-Tests
