# Takes the role of the pod's service account by its token and reads an object that only this role may read. The
# functions that sign stand before it.
$ErrorActionPreference = 'Stop'
if (-not $env:AWS_ROLE_ARN) { throw 'this pod has no identity' }
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$question = @{
    Action           = 'AssumeRoleWithWebIdentity'
    Version          = '2011-06-15'
    RoleSessionName  = 'sample'
    RoleArn          = $env:AWS_ROLE_ARN
    WebIdentityToken = [IO.File]::ReadAllText($env:AWS_WEB_IDENTITY_TOKEN_FILE)
}
$answer = Invoke-RestMethod -TimeoutSec 60 -UseBasicParsing -Method Post -Uri "https://sts.$env:AWS_REGION.amazonaws.com/" -Body $question
$credentials = $answer.AssumeRoleWithWebIdentityResponse.AssumeRoleWithWebIdentityResult.Credentials
$url = [Uri] $env:OBJECT_URL
$headers = @{
    'host'                 = $url.Host
    'x-amz-content-sha256' = Get-Sha256Hex ''
    'x-amz-date'           = [DateTime]::UtcNow.ToString('yyyyMMddTHHmmssZ', [Globalization.CultureInfo]::InvariantCulture)
    'x-amz-security-token' = $credentials.SessionToken
}
$signed = Get-Authorization -Method GET -Path $url.AbsolutePath -Query '' -Headers $headers -Body '' -AccessKey $credentials.AccessKeyId -Secret $credentials.SecretAccessKey -Region $env:AWS_REGION -Service s3
$headers.Remove('host')
$headers['Authorization'] = $signed
Invoke-RestMethod -TimeoutSec 60 -UseBasicParsing -Uri $url -Headers $headers
