# Who this machine is, and what it may read by that: the clouds' metadata services and APIs, without their modules.
. "$PSScriptRoot/sigv4.ps1"

# Metadata is never behind a proxy, and Windows PowerShell offers TLS 1.2 only when told.
function Initialize-Web {
    [Net.WebRequest]::DefaultWebProxy = $null
    [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
}

# One web call, repeated while the service is not ready: credentials and role assignments appear some time after the machine.
function Invoke-Web {
    param(
        [hashtable] $Request,
        [int] $Attempts = 6,
        [int[]] $Final = @()
    )
    for ($attempt = 1; $true; $attempt += 1) {
        try {
            return Invoke-RestMethod -UseBasicParsing -TimeoutSec 20 @Request
        }
        catch {
            $status = 0
            if ($_.Exception.Response) {
                $status = [int] $_.Exception.Response.StatusCode
            }
            if ($attempt -ge $Attempts -or $Final -contains $status) {
                throw
            }
            Start-Sleep -Seconds ([Math]::Min(30, [Math]::Pow(2, $attempt)))
        }
    }
}

# A value of the instance metadata service of AWS, version 2. Empty when it has none.
function Get-AwsMetadata {
    param(
        [string] $Path
    )
    $base = 'http://169.254.169.254/latest'
    $token = Invoke-Web @{ Method = 'PUT'; Uri = "$base/api/token"; Headers = @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '300' } }
    try {
        Invoke-Web @{ Uri = "$base/meta-data/$Path"; Headers = @{ 'X-aws-ec2-metadata-token' = $token } } -Final 404
    }
    catch {
        if ($_.Exception.Response -and [int] $_.Exception.Response.StatusCode -eq 404) {
            return ''
        }
        throw
    }
}

function Get-AzureMetadata {
    param(
        [string] $Path
    )
    Invoke-Web @{ Uri = "http://169.254.169.254/metadata/$Path"; Headers = @{ Metadata = 'true' } }
}

# Temporary keys of the instance's role.
function Get-AwsKey {
    $role = Get-AwsMetadata 'iam/security-credentials/'
    $key = Get-AwsMetadata "iam/security-credentials/$role"
    if ($key -is [string]) {
        $key = $key | ConvertFrom-Json
    }
    if (-not $key.AccessKeyId) {
        throw 'the instance has no credentials yet'
    }
    $key
}

# Adds the signature to a request's headers. Those that .NET sets itself, from the address and from ContentType, are taken out again.
function Add-Signature {
    param(
        [object] $Cloud,
        [string] $Service,
        [string] $Method,
        [string] $Path,
        [hashtable] $Headers,
        [string] $Body = ''
    )
    $key = Get-AwsKey
    $Headers['x-amz-date'] = [DateTime]::UtcNow.ToString('yyyyMMddTHHmmssZ', [Globalization.CultureInfo]::InvariantCulture)
    $Headers['x-amz-security-token'] = $key.Token
    $authorization = Get-Authorization -Method $Method -Path $Path -Query '' -Headers $Headers -Body $Body -AccessKey $key.AccessKeyId -Secret $key.SecretAccessKey -Region $Cloud.region -Service $Service
    $Headers.Remove('host')
    $Headers.Remove('content-type')
    $Headers['authorization'] = $authorization
}

# A signed call to an AWS API by the role of the instance.
function Invoke-Aws {
    param(
        [object] $Cloud,
        [string] $Service,
        [string] $ContentType,
        [string] $Body,
        [string] $Target = ''
    )
    $name = "$Service.$($Cloud.region).$($Cloud.domain)"
    $headers = @{ 'content-type' = $ContentType; 'host' = $name }
    if ($Target) {
        $headers['x-amz-target'] = $Target
    }
    Add-Signature $Cloud $Service 'POST' '/' $headers $Body
    Invoke-Web @{ Method = 'POST'; Uri = "https://$name/"; Headers = $headers; ContentType = $ContentType; Body = $Body }
}

# Saves an object of S3, which wants the hash of the body, here an empty one, among the headers.
function Save-AwsObject {
    param(
        [object] $Cloud,
        [object] $Object,
        [string] $File
    )
    $name = "$($Object.bucket).s3.$($Cloud.region).$($Cloud.domain)"
    $headers = @{ 'host' = $name; 'x-amz-content-sha256' = Get-Sha256Hex '' }
    Add-Signature $Cloud 's3' 'GET' "/$($Object.key)" $headers
    Invoke-Web @{ Uri = "https://$name/$($Object.key)"; Headers = $headers; OutFile = $File }
}

# Tells the Auto Scaling group how a lifecycle hook ended, or that it takes longer.
function Send-Lifecycle {
    param(
        [object] $Machine,
        [string] $Hook,
        [string] $Action,
        [string] $Result = ''
    )
    $form = [ordered] @{
        Action               = $Action
        Version              = '2011-01-01'
        AutoScalingGroupName = $Machine.lifecycle.group
        LifecycleHookName    = $Hook
        # Not from the join stage: a machine that never joined must be able to leave.
        InstanceId           = Get-AwsMetadata 'instance-id'
    }
    if ($Result) {
        $form.LifecycleActionResult = $Result
    }
    $body = ($form.GetEnumerator() | ForEach-Object { $_.Key + '=' + [Uri]::EscapeDataString($_.Value) }) -join '&'
    Invoke-Aws $Machine.cloud 'autoscaling' 'application/x-www-form-urlencoded; charset=utf-8' $body | Out-Null
}

# Name, address and provider id of this machine.
function Get-Identity {
    param(
        [object] $Cloud
    )
    if ($Cloud.kind -eq 'aws') {
        $id = Get-AwsMetadata 'instance-id'
        $zone = Get-AwsMetadata 'placement/availability-zone'
        return @{ name = $id; address = Get-AwsMetadata 'local-ipv4'; providerId = "aws:///$zone/$id" }
    }
    $instance = Get-AzureMetadata 'instance?api-version=2021-02-01'
    # The cloud controller compares subscription and resource group in lower case.
    $resource = $instance.compute.resourceId -replace '^/subscriptions/([^/]+)/resourceGroups/([^/]+)', ''
    $providerId = "azure:///subscriptions/$($instance.compute.subscriptionId.ToLowerInvariant())/resourceGroups/$($instance.compute.resourceGroupName.ToLowerInvariant())$resource"
    @{
        name       = $env:COMPUTERNAME.ToLowerInvariant()
        address    = $instance.network.interface[0].ipv4.ipAddress[0].privateIpAddress
        providerId = $providerId
    }
}

# The join secret, read by this machine's own identity.
function Get-JoinSecret {
    param(
        [object] $Cloud
    )
    if ($Cloud.kind -eq 'aws') {
        $body = @{ Name = $Cloud.joinSecret; WithDecryption = $true } | ConvertTo-Json -Compress
        return (Invoke-Aws $Cloud 'ssm' 'application/x-amz-json-1.1' $body 'AmazonSSM.GetParameter').Parameter.Value | ConvertFrom-Json
    }
    $token = Get-AzureMetadata "identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net&client_id=$($Cloud.clientId)"
    $secret = Invoke-Web @{
        Uri     = "$($Cloud.joinVault.TrimEnd('/'))/secrets/$($Cloud.joinSecret)?api-version=7.4"
        Headers = @{ Authorization = "Bearer $($token.access_token)" }
    }
    $secret.value | ConvertFrom-Json
}
