# This machine's identity, and what it can read with it: the clouds' metadata services and APIs, without their modules.
. "$PSScriptRoot/sigv4.ps1"

# Metadata is never behind a proxy, and Windows PowerShell uses TLS 1.2 only when configured to.
function Initialize-Web {
    [Net.WebRequest]::DefaultWebProxy = $null
    [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
}

# One web request, retried while the service is not ready: credentials and role assignments appear some time after the machine.
function Invoke-Web {
    param(
        [hashtable] $Request,
        [int] $Attempts = 6,
        # A missing resource is no error and returns an empty string.
        [switch] $Optional,
        # Returns new headers for each attempt: session tokens, keys and signatures expire.
        [scriptblock] $Fresh
    )
    for ($attempt = 1; $true; $attempt += 1) {
        if ($Fresh) {
            $Request.Headers = & $Fresh
        }
        try {
            return Invoke-RestMethod -UseBasicParsing -TimeoutSec 20 @Request
        }
        catch {
            $status = 0
            if ($_.Exception.Response) {
                $status = [int] $_.Exception.Response.StatusCode
            }
            if ($Optional -and $status -eq 404) {
                return ''
            }
            if ($attempt -ge $Attempts) {
                throw
            }
            Start-Sleep -Seconds ([Math]::Min(30, [Math]::Pow(2, $attempt)))
        }
    }
}

# A value from AWS's instance metadata service, version 2. Empty when it has none.
function Get-AwsMetadata {
    param(
        [string] $Path,
        [int] $Attempts = 6
    )
    $base = 'http://169.254.169.254/latest'
    Invoke-Web @{ Uri = "$base/meta-data/$Path" } -Attempts $Attempts -Optional -Fresh {
        @{ 'X-aws-ec2-metadata-token' = Invoke-Web @{ Method = 'PUT'; Uri = "$base/api/token"; Headers = @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '300' } } -Attempts $Attempts }
    }
}

function Get-AzureMetadata {
    param(
        [string] $Path,
        [int] $Attempts = 6
    )
    Invoke-Web @{ Uri = "http://169.254.169.254/metadata/$Path"; Headers = @{ Metadata = 'true' } } -Attempts $Attempts
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

# A request's headers with the signature. Those that .NET sets itself, from the address and from ContentType, are signed but not returned.
function Get-SignedHeaders {
    param(
        [object] $Cloud,
        [string] $Service,
        [string] $Method,
        [string] $Path,
        [hashtable] $Headers,
        [string] $Body = ''
    )
    $key = Get-AwsKey
    $signed = $Headers.Clone()
    $signed['x-amz-date'] = [DateTime]::UtcNow.ToString('yyyyMMddTHHmmssZ', [Globalization.CultureInfo]::InvariantCulture)
    $signed['x-amz-security-token'] = $key.Token
    $authorization = Get-Authorization -Method $Method -Path $Path -Query '' -Headers $signed -Body $Body -AccessKey $key.AccessKeyId -Secret $key.SecretAccessKey -Region $Cloud.region -Service $Service
    $signed.Remove('host')
    $signed.Remove('content-type')
    $signed['authorization'] = $authorization
    $signed
}

# A signed AWS API call with the instance's role.
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
    Invoke-Web @{ Method = 'POST'; Uri = "https://$name/"; ContentType = $ContentType; Body = $Body } -Fresh {
        Get-SignedHeaders $Cloud $Service 'POST' '/' $headers $Body
    }
}

# Downloads an S3 object. S3 requires the hash of the body, here an empty one, as a header.
function Save-AwsObject {
    param(
        [object] $Cloud,
        [object] $Object,
        [string] $File
    )
    $name = "$($Object.bucket).s3.$($Cloud.region).$($Cloud.domain)"
    $headers = @{ 'host' = $name; 'x-amz-content-sha256' = Get-Sha256Hex '' }
    Invoke-Web @{ Uri = "https://$name/$($Object.key)"; OutFile = $File } -Fresh {
        Get-SignedHeaders $Cloud 's3' 'GET' "/$($Object.key)" $headers
    }
}

# Reports to the Auto Scaling group how a lifecycle hook ended, or that it needs more time.
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

# The join secret, read with this machine's identity.
function Get-JoinSecret {
    param(
        [object] $Cloud
    )
    if ($Cloud.kind -eq 'aws') {
        $body = @{ Name = $Cloud.joinSecret; WithDecryption = $true } | ConvertTo-Json -Compress
        return (Invoke-Aws $Cloud 'ssm' 'application/x-amz-json-1.1' $body 'AmazonSSM.GetParameter').Parameter.Value | ConvertFrom-Json
    }
    # While an identity is being updated the service answers 410 for up to 70 seconds (Azure documentation, "Use managed identities on a virtual
    # machine"), which is longer than the pauses of six attempts.
    $token = Get-AzureMetadata "identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net&client_id=$($Cloud.clientId)" 7
    $secret = Invoke-Web @{
        Uri     = "$($Cloud.joinVault.TrimEnd('/'))/secrets/$($Cloud.joinSecret)?api-version=7.4"
        Headers = @{ Authorization = "Bearer $($token.access_token)" }
    }
    $secret.value | ConvertFrom-Json
}
