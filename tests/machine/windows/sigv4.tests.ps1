# The signature against the published vectors (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4; AWS General Reference).
. "$PSScriptRoot/harness.ps1"
. "$scripts/sigv4.ps1"

$access = 'AKIDEXAMPLE'
$secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

# Signature of a request with the suite's key, date and region.
function Get-SuiteSignature {
    param(
        [string] $Method,
        [string] $Query = '',
        [hashtable] $More = @{},
        [string] $Body = '',
        [string] $Service = 'service',
        [string] $Name = 'example.amazonaws.com'
    )
    $headers = @{ 'host' = $Name; 'x-amz-date' = '20150830T123600Z' } + $More
    $value = Get-Authorization -Method $Method -Path '/' -Query $Query -Headers $headers -Body $Body -AccessKey $access -Secret $secret -Region 'us-east-1' -Service $Service
    $value -replace '^.*Signature=', ''
}

Test 'get-vanilla' {
    Assert-Equal (Get-SuiteSignature GET) '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'
}
Test 'post-vanilla' {
    Assert-Equal (Get-SuiteSignature POST) '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'
}
Test 'get-vanilla-query-order-key-case' {
    Assert-Equal (Get-SuiteSignature GET -Query 'Param1=value1&Param2=value2') 'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500'
}
Test 'post-x-www-form-urlencoded' {
    $type = @{ 'content-type' = 'application/x-www-form-urlencoded' }
    Assert-Equal (Get-SuiteSignature POST -More $type -Body 'Param1=value1') 'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a'
}
Test 'the signing key of the documentation' {
    $key = Get-SigningKey $secret '20150830' 'us-east-1' 'iam'
    Assert-Equal (ConvertTo-Hex $key) 'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9'
}
Test 'IAM ListUsers of the documentation, with its whole header' {
    $headers = @{ 'host' = 'iam.amazonaws.com'; 'x-amz-date' = '20150830T123600Z'; 'content-type' = 'application/x-www-form-urlencoded; charset=utf-8' }
    $value = Get-Authorization -Method GET -Path '/' -Query 'Action=ListUsers&Version=2010-05-08' -Headers $headers -Body '' -AccessKey $access -Secret $secret -Region 'us-east-1' -Service 'iam'
    Assert-Equal $value 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7'
}
Test 'a changed body changes the signature' {
    $one = Get-SuiteSignature POST -Body 'a'
    $two = Get-SuiteSignature POST -Body 'b'
    if ($one -eq $two) {
        throw 'the body is not signed'
    }
}
Test 'blanks inside and around a value are folded' {
    Assert-Equal (Get-SuiteSignature GET -More @{ 'my-header' = '  a   b ' }) (Get-SuiteSignature GET -More @{ 'my-header' = 'a b' })
}
Complete-Tests
