# Takes the identity of the pod's service account by its token and reads a blob that only this identity may read.
$ErrorActionPreference = 'Stop'
if (-not $env:AZURE_CLIENT_ID) { throw 'this pod has no identity' }
[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
$question = @{
    grant_type            = 'client_credentials'
    client_id             = $env:AZURE_CLIENT_ID
    scope                 = 'https://storage.azure.com/.default'
    client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    client_assertion      = [IO.File]::ReadAllText($env:AZURE_FEDERATED_TOKEN_FILE)
}
$uri = "$env:AZURE_AUTHORITY_HOST$env:AZURE_TENANT_ID/oauth2/v2.0/token"
$token = (Invoke-RestMethod -TimeoutSec 60 -UseBasicParsing -Method Post -Uri $uri -Body $question).access_token
$headers = @{ 'Authorization' = "Bearer $token"; 'x-ms-version' = '2021-12-02' }
Invoke-RestMethod -TimeoutSec 60 -UseBasicParsing -Uri $env:OBJECT_URL -Headers $headers
