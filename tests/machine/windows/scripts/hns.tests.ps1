# What is asked of HNS and what is made of its answers, also while it restarts and with several networks side by side.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/hns.ps1"

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
    Invoke-Hns POST '/networks/' '{"Name":"flannel.4096"}' | Out-Null
    Assert-Equal $hns.calls @('GET /networks/ ', 'POST /networks/ {"Name":"flannel.4096"}')
}
Test 'no items are no output' {
    $hns.text = '{"Success":true,"Output":[]}'
    Assert-Equal @(Invoke-Hns GET '/endpoints/').Count 0
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
Test 'the pod network is found beside the one of Windows itself, each by its name' {
    $hns.text = $two
    Assert-Equal (Get-HnsNetworkNamed 'flannel.4096').ID 'b'
    Assert-Equal (Get-HnsNetworkNamed 'nat').ID 'a'
}
Test 'after a restart of HNS the pod network is gone while the one of Windows itself stays' {
    $hns.text = '{"Success":true,"Output":[{"ID":"a","Name":"nat","Type":"NAT"}]}'
    Assert-Equal (Get-HnsNetworkNamed 'flannel.4096') $null
    Assert-Equal (Get-HnsNetworkNamed 'nat').ID 'a'
}
Test 'of two networks of one name the first is taken, not both' {
    $hns.text = '{"Success":true,"Output":[{"ID":"a","Name":"flannel.4096"},{"ID":"b","Name":"flannel.4096"}]}'
    Assert-Equal @(Get-HnsNetworkNamed 'flannel.4096').Count 1
}
Complete-Tests
