# Identity in both clouds: tokens that are refused, keys that run out, services that are not ready, and what is asked of
# whom.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/identity.ps1"

# Starts a test: nothing was asked yet, and this is how the web answers.
function Set-Web {
    param($Answer = { Get-AwsAnswer $args[0] $args[1] })
    Reset-Pc @{ answer = $Answer }
}
$aws = (New-Data).cloud

$azure = ConvertTo-Data @{ kind = 'azure'; clientId = '11111111-2222-3333-4444-555555555555'; joinVault = 'https://demo-join.vault.azure.net/'; joinSecret = 'join' }
$tokenCall = 'GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net&client_id=11111111-2222-3333-4444-555555555555'
$secretCall = 'GET https://demo-join.vault.azure.net/secrets/join?api-version=7.4'
# The metadata service and the vault of Azure: a token for the pool's own identity opens the vault.
function Get-AzureAnswer {
    param($Call, $Headers)
    if ($Call -eq $secretCall) {
        Assert-Equal $Headers['Authorization'] 'Bearer the-token'
        return ConvertTo-Data @{ value = '{"server":"https://api:6443","token":"abc"}' }
    }
    Assert-Equal $Headers['Metadata'] 'true'
    if ($Call -eq $tokenCall) {
        return ConvertTo-Data @{ access_token = 'the-token' }
    }
    throw 'refusal 404'
}
Test 'AWS: what does not exist is empty at once' {
    Set-Web
    Assert-Equal (Get-AwsMetadata 'spot/instance-action') ''
    Assert-Equal $fakePc.calls @("PUT $imds/api/token", "GET $imds/meta-data/spot/instance-action")
    Assert-Equal $fakePc.slept @()
}
Test 'AWS: an object of S3 is asked for with the hash of the body among what is signed' {
    Set-Web {
        if ($args[0] -like 'GET https://*') { return }
        Get-AwsAnswer $args[0] $args[1]
    }
    Invoke-AwsFetch $aws (ConvertTo-Data @{ bucket = 'demo'; key = 'pool/scripts.gz' }) "$temp/scripts.gz"
    Assert-Equal $fakePc.calls[-1] 'GET https://demo.s3.eu-central-1.amazonaws.com/pool/scripts.gz'
    Assert-Equal $fakePc.last.file "$temp/scripts.gz"
    Assert-Equal $fakePc.last.headers['x-amz-content-sha256'] 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    Assert-Equal ($fakePc.last.headers['authorization'] -replace '^.*SignedHeaders=([^,]*),.*$', '$1') 'host;x-amz-content-sha256;x-amz-date;x-amz-security-token'
}

# What is asked, the call that fails, how and how often; the pauses, the calls of that kind, and the error in the end.
$fakeAsk = @{
    'a value of AWS'        = { Get-AwsMetadata 'instance-id' }
    'the secret of AWS'     = { (Get-JoinSecret $aws).server }
    'the secret of Azure'   = { (Get-JoinSecret $azure).server }
    'a hook of AWS'         = { Send-Lifecycle (New-Data) 'drain' 'CompleteLifecycleAction' 'CONTINUE' }
}
$fakeGood = @{ 'a value of AWS' = 'i-0123456789abcdef0'; 'the secret of AWS' = 'https://api:6443'; 'the secret of Azure' = 'https://api:6443' }
foreach ($case in Read-Table @'
title|asked|call|ways[]|times|slept[]|calls|error
a token that is refused is replaced by a new one|a value of AWS|GET *|refusal 401|1|2|2|
a service without tokens is an error, no empty value|a value of AWS|PUT *|refusal 404|99|2, 4, 8, 16, 30|6|answered with 404
a service not reachable yet is asked again, with growing pauses|a value of AWS|PUT *|Unable to connect|2|2, 4|3|
keys that ran out are replaced, and the call signed anew|the secret of AWS|POST https://ssm.*|refusal 400 {"__type":"ExpiredTokenException"}|1|2|2|
what passes by the documentation is asked again|the secret of Azure|*/oauth2/token*|refusal 404, refusal 410, refusal 429, refusal 500, refusal 503|1|2|2|
a role without effect yet is waited for|the secret of Azure|*/secrets/join*|refusal 403|2|2, 4|3|
a hook that waits no more counts as told|a hook of AWS|POST https://autoscaling.*|refusal 400 <Code>ValidationError</Code><Message>No active Lifecycle Action found|99||1|
any other refusal is asked again, and said with its code|a hook of AWS|POST https://autoscaling.*|refusal 400 <Code>AccessDenied</Code>|99|2, 4, 8, 16, 30|6|answered with 400 AccessDenied$
'@) {
    foreach ($way in $case.ways) { Test "$($case.asked): $($case.title) ($way)" {
        Set-Web {
            if ($args[0] -like 'POST https://ssm.*') { return ConvertTo-Data @{ Parameter = @{ Value = '{"server":"https://api:6443"}' } } }
            if ($case.asked -like '*Azure') { return Get-AzureAnswer $args[0] $args[1] }
            Get-AwsAnswer $args[0] $args[1]
        }
        Set-Values $fakePc @{ call = $case.call; way = $way; times = $case.times }
        $ask = $fakeAsk[$case.asked]
        if ($case.error) { Assert-Throws $ask $case.error } else { Assert-Equal (& $ask) $fakeGood[$case.asked] }
        Assert-Equal @($fakePc.slept | ForEach-Object { "$_" }) $case.slept
        Assert-Equal @($fakePc.calls -like $case.call).Count $case.calls
        # One token for both attempts at a vault.
        if ($case.call -eq '*/secrets/join*') { Assert-Equal $fakePc.calls[0, 1] @($tokenCall, $secretCall) }
        if ($case.asked -eq 'the secret of AWS') {
            Assert-True $fakePc.last.headers['authorization'].StartsWith('AWS4-HMAC-SHA256 Credential=AKID2/')
            Assert-True $fakePc.last.body.Contains('"Name":"/fenestra/aws-dev/join"')
            Assert-Equal @($fakePc.last.headers.Keys | Sort-Object) @('authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-target')
            Assert-Equal $fakePc.last.type 'application/x-amz-json-1.1'
        }
    } }
}
Test 'Azure: a scale set''s machine is known as controllers write it' {
    $env:COMPUTERNAME = 'DEMOWIN000003'
    Set-Web {
        ConvertTo-Data @{
            compute = @{ resourceId = '/subscriptions/AAAA/resourceGroups/Demo-RG/providers/Microsoft.Compute/virtualMachineScaleSets/demo-win/virtualMachines/3'; subscriptionId = 'AAAA'; resourceGroupName = 'Demo-RG' }
            network = @{ interface = @(@{ ipv4 = @{ ipAddress = @(@{ privateIpAddress = '10.1.0.9' }) } }) }
        }
    }
    $identity = Get-Identity $azure
    Assert-Equal @($identity.name, $identity.address) @('demowin000003', '10.1.0.9')
    Assert-Equal $identity.providerId 'azure:///subscriptions/aaaa/resourceGroups/demo-rg/providers/Microsoft.Compute/virtualMachineScaleSets/demo-win/virtualMachines/3'
}
Test 'what has not the form of an answer is refused' {
    foreach ($page in '<html>busy</html>', '', "i-0123456789abcdef0`ni-1", "i-0123456789abcdef0`n") {
        foreach ($of in 'availability-zone', 'local-ipv4', 'instance-id') {
            Set-Web {
                if ($args[0] -like "*/$of") { return $page }
                Get-AwsAnswer $args[0] $args[1]
            }
            Assert-Throws { Get-Identity $aws } '^the metadata service answered with '
        }
        Assert-Throws { Get-NodeName $aws } '^the metadata service answered with '
    }
}
Test 'a caller''s deadline ends the attempts, and limits each' {
    Set-Web { throw 'refusal 503' }
    $CallsEnd = New-Deadline 1
    Assert-Throws { Get-AwsMetadata 'instance-id' } 'answered with 503|no time left'
    Assert-Equal @($fakePc.calls.Count, $fakePc.slept.Count) @(1, 0)
    Assert-True ($fakePc.last.seconds -le 1)
}
Complete-Tests
