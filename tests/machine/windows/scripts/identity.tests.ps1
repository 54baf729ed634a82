# Identity in both clouds: tokens that are refused, keys that run out, services that are not ready, and what is asked of
# whom.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$PSScriptRoot/web-fake.ps1"
. "$scripts/identity.ps1"
. "$PSScriptRoot/log-fake.ps1"

function Start-Sleep {
    param([int] $Seconds)
    $fakeWeb.slept += $Seconds
}
# Starts a test: nothing was asked yet, and this is how the web answers.
function Set-Web {
    param([scriptblock] $Answer)
    Set-Values $fakeWeb @{ answer = $Answer; calls = @(); slept = @(); tokens = 0; keys = 0; sent = @() }
}
# How often a call was made.
function Get-Count {
    param([string] $Call)
    @($fakeWeb.calls -like $Call).Count
}
$aws = ConvertTo-Data @{ kind = 'aws'; region = 'eu-central-1'; domain = 'amazonaws.com'; joinSecret = '/fenestra/demo/join' }

Test 'AWS: a machine is known by its instance id, its zone and its address' {
    Set-Web { Get-AwsAnswer $args[0] $args[1] }
    $identity = Get-Identity $aws
    Assert-Equal @($identity.name, $identity.address, $identity.providerId) @('i-0123456789abcdef0', '10.0.0.7', 'aws:///eu-central-1a/i-0123456789abcdef0')
}
Test 'AWS: a token that is refused is replaced by a new one' {
    Set-Web {
        if ($args[1]['X-aws-ec2-metadata-token'] -eq 'session-1') { Send-Refusal 401 }
        Get-AwsAnswer $args[0] $args[1]
    }
    Assert-Equal (Get-AwsMetadata 'instance-id') 'i-0123456789abcdef0'
    Assert-Equal $fakeWeb.tokens 2
    Assert-Equal $fakeWeb.slept @(2)
}
Test 'AWS: what does not exist is empty at once' {
    Set-Web { Get-AwsAnswer $args[0] $args[1] }
    Assert-Equal (Get-AwsMetadata 'spot/instance-action') ''
    Assert-Equal $fakeWeb.calls @("PUT $imds/api/token", "GET $imds/meta-data/spot/instance-action")
    Assert-Equal $fakeWeb.slept @()
}
Test 'AWS: a service that gives no tokens is an error, not an empty value' {
    Set-Web { Send-Refusal 404 }
    Assert-Throws { Get-AwsMetadata 'instance-id' } 'answered with 404'
    Assert-Equal @((Get-Count 'GET *'), (Get-Count 'PUT *')) @(0, 6)
}
Test 'AWS: a service that is not reachable yet is asked again, with growing pauses, and given up after six attempts' {
    Set-Web {
        if ($fakeWeb.calls.Count -lt 3) { throw 'Unable to connect to the remote server' }
        Get-AwsAnswer $args[0] $args[1]
    }
    Assert-Equal (Get-AwsMetadata 'instance-id') 'i-0123456789abcdef0'
    Assert-Equal $fakeWeb.slept @(2, 4)
    Set-Web { throw 'Unable to connect to the remote server' }
    Assert-Throws { Get-AwsMetadata 'instance-id' } 'Unable to connect'
    Assert-Equal $fakeWeb.slept @(2, 4, 8, 16, 30)
}
Test 'AWS: a role that has no keys yet is said' {
    Set-Web {
        if ($args[0] -like '*/security-credentials/role') {
            return '{"Code":"Failed"}'
        }
        Get-AwsAnswer $args[0] $args[1]
    }
    Assert-Throws { Get-AwsKey } 'no credentials yet'
}
Test 'AWS: keys that ran out on the way are replaced, and the call is signed anew' {
    Set-Web {
        if ($args[0] -eq 'POST https://ssm.eu-central-1.amazonaws.com/') {
            $fakeWeb.sent += $args[1]['authorization']
            if ($args[1]['x-amz-security-token'] -eq 'token1') {
                Send-Refusal 400 '{"__type":"ExpiredTokenException"}'
            }
            return ConvertTo-Data @{ Parameter = @{ Value = '{"server":"https://api:6443"}' } }
        }
        Get-AwsAnswer $args[0] $args[1]
    }
    Assert-Equal (Get-JoinSecret $aws).server 'https://api:6443'
    $used = @($fakeWeb.sent | ForEach-Object { $_ -replace '^AWS4-HMAC-SHA256 Credential=([^/]+)/.*$', '$1' })
    Assert-Equal $used @('AKID1', 'AKID2')
    Assert-Equal $fakeWeb.slept @(2)
    Assert-True $fakeWeb.last.body.Contains('"Name":"/fenestra/demo/join"')
    Assert-Equal @($fakeWeb.last.headers.Keys | Sort-Object) @('authorization', 'x-amz-date', 'x-amz-security-token', 'x-amz-target')
    Assert-Equal $fakeWeb.last.type 'application/x-amz-json-1.1'
}
Test 'AWS: an object of S3 is asked for with the hash of the body among what is signed' {
    Set-Web {
        if ($args[0] -like 'GET https://*') { return }
        Get-AwsAnswer $args[0] $args[1]
    }
    Save-AwsObject $aws (ConvertTo-Data @{ bucket = 'demo'; key = 'pool/scripts.gz' }) "$temp/scripts.gz"
    Assert-Equal $fakeWeb.calls[-1] 'GET https://demo.s3.eu-central-1.amazonaws.com/pool/scripts.gz'
    Assert-Equal $fakeWeb.last.file "$temp/scripts.gz"
    Assert-Equal $fakeWeb.last.headers['x-amz-content-sha256'] 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    $names = $fakeWeb.last.headers['authorization'] -replace '^.*SignedHeaders=([^,]*),.*$', '$1'
    Assert-Equal $names 'host;x-amz-content-sha256;x-amz-date;x-amz-security-token'
}

$azure = ConvertTo-Data @{ kind = 'azure'; clientId = '11111111-2222-3333-4444-555555555555'; joinVault = 'https://demo-join.vault.azure.net/'; joinSecret = 'join' }
$tokenCall = 'GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net&client_id=11111111-2222-3333-4444-555555555555'
$secretCall = 'GET https://demo-join.vault.azure.net/secrets/join?api-version=7.4'
# The metadata service and the vault of Azure: a token for the pool's own identity opens the vault.
function Get-AzureAnswer {
    param([string] $Call, [hashtable] $Headers)
    if ($Call -eq $secretCall) {
        Assert-Equal $Headers['Authorization'] 'Bearer the-token'
        return ConvertTo-Data @{ value = '{"server":"https://api:6443","token":"abc"}' }
    }
    Assert-Equal $Headers['Metadata'] 'true'
    if ($Call -eq $tokenCall) {
        return ConvertTo-Data @{ access_token = 'the-token' }
    }
    Send-Refusal 404
}
Test 'Azure: the join secret is read by the identity that the pool names' {
    Set-Web { Get-AzureAnswer $args[0] $args[1] }
    $secret = Get-JoinSecret $azure
    Assert-Equal @($secret.server, $secret.token) @('https://api:6443', 'abc')
    Assert-Equal $fakeWeb.calls @($tokenCall, $secretCall)
}
Test 'Azure: what the documentation calls passing is asked again: 404, 410, 429 and 5xx' {
    foreach ($fakeCode in 404, 410, 429, 500, 503) {
        Set-Web {
            if ($fakeWeb.calls.Count -eq 1) { Send-Refusal $fakeCode }
            Get-AzureAnswer $args[0] $args[1]
        }
        Assert-Equal (Get-JoinSecret $azure).server 'https://api:6443'
        Assert-Equal $fakeWeb.slept @(2)
        Assert-Equal (Get-Count '*/oauth2/token*') 2
    }
}
Test 'Azure: an update of the metadata service, up to 70 seconds, is waited out' {
    Set-Web { Send-Refusal 410 }
    Assert-Throws { Get-JoinSecret $azure } 'answered with 410'
    $sum = 0
    foreach ($seconds in $fakeWeb.slept) { $sum += $seconds }
    Assert-True ($sum -ge 70)
}
Test 'Azure: a role at the vault that has not taken effect yet is waited for' {
    Set-Web {
        if ($args[0] -eq $secretCall -and (Get-Count 'GET https://*') -le 2) { Send-Refusal 403 }
        Get-AzureAnswer $args[0] $args[1]
    }
    Assert-Equal (Get-JoinSecret $azure).server 'https://api:6443'
    Assert-Equal $fakeWeb.slept @(2, 4)
    Assert-Equal (Get-Count '*/oauth2/token*') 1
}
Test 'Azure: a machine of a scale set is known as the cloud controller writes it' {
    $env:COMPUTERNAME = 'DEMOWIN000003'
    Set-Web {
        $resource = '/subscriptions/AAAA/resourceGroups/Demo-RG/providers/Microsoft.Compute/virtualMachineScaleSets/demo-win/virtualMachines/3'
        $address = @{ privateIpAddress = '10.1.0.9' }
        ConvertTo-Data @{
            compute = @{ resourceId = $resource; subscriptionId = 'AAAA'; resourceGroupName = 'Demo-RG' }
            network = @{ interface = @(@{ ipv4 = @{ ipAddress = @($address) } }) }
        }
    }
    $identity = Get-Identity $azure
    Assert-Equal @($identity.name, $identity.address) @('demowin000003', '10.1.0.9')
    Assert-Equal $identity.providerId 'azure:///subscriptions/aaaa/resourceGroups/demo-rg/providers/Microsoft.Compute/virtualMachineScaleSets/demo-win/virtualMachines/3'
}
Test 'what has not the form of an answer is refused, and nothing is made of it' {
    foreach ($page in '<html>busy</html>', '', "i-0123456789abcdef0`ni-1", "i-0123456789abcdef0`n") {
        Set-Web {
            if ($args[0] -like '*/instance-id') { return $page }
            Get-AwsAnswer $args[0] $args[1]
        }
        Assert-Throws { Get-Identity $aws } '^the metadata service answered with '
        Assert-Throws { Get-NodeName $aws } '^the metadata service answered with '
    }
}
Test 'a hook that waits no more counts as told at once; any other refusal is asked again, and said with its code' {
    $machine = ConvertTo-Data @{ cloud = @{ kind = 'aws'; region = 'eu-central-1'; domain = 'amazonaws.com' }; lifecycle = @{ group = 'g' } }
    foreach ($case in @(@{ text = '<Code>ValidationError</Code><Message>No active Lifecycle Action found'; calls = 1 }, @{ text = '<Code>AccessDenied</Code>'; calls = 6 })) {
        Set-Web {
            if ($args[0] -like 'POST https://autoscaling.*') { Send-Refusal 400 $case.text }
            Get-AwsAnswer $args[0] $args[1]
        }
        if ($case.calls -eq 1) {
            Send-Lifecycle $machine 'drain' 'CompleteLifecycleAction' 'CONTINUE'
        }
        else {
            Assert-Throws { Send-Lifecycle $machine 'drain' 'CompleteLifecycleAction' 'CONTINUE' } 'answered with 400 AccessDenied$'
        }
        Assert-Equal (Get-Count 'POST https://autoscaling.*') $case.calls
    }
}
Test 'a caller''s deadline ends the attempts, and limits each' {
    Set-Web { Send-Refusal 503 }
    $CallsEnd = New-Deadline 1
    Assert-Throws { Get-AwsMetadata 'instance-id' } 'answered with 503|no time left'
    Assert-Equal $fakeWeb.calls.Count 1
    Assert-True ($fakeWeb.last.seconds -le 1)
}
Complete-Tests
