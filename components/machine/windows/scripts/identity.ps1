# This machine's identity, and what it can read and report with it.
. "$PSScriptRoot/web.ps1"

# An object, or with -Text a text, from Azure's metadata service.
function Get-AzureMetadata {
    param([string] $Path, [int] $Attempts = 6, [switch] $Text)
    $answer = Invoke-Web @{ Uri = "http://169.254.169.254/metadata/$Path"; Headers = @{ Metadata = 'true' } } -Attempts $Attempts
    if ($Text) {
        return $answer
    }
    $answer | ConvertFrom-Json
}

# Reports to the Auto Scaling group how a lifecycle hook ended, or that it needs more time. One that waits no more
# counts as told.
function Send-Lifecycle {
    param($Machine, [string] $Hook, [string] $Action, [string] $Result = '')
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
    Invoke-Aws $Machine.cloud 'autoscaling' 'application/x-www-form-urlencoded; charset=utf-8' $body -Final 'No active Lifecycle Action' | Out-Null
}

# An answer that has the form it must have; anything else, such as the page of a busy service, is refused before it is
# believed.
function Assert-Form {
    param([string] $Text, [string] $Pattern)
    if ($Text -cnotmatch "^($Pattern)\z") {
        throw "the metadata service answered with '$($Text.Substring(0, [Math]::Min(80, $Text.Length)))' for $Pattern"
    }
    $Text
}

# Whether this machine may have a Node that it can speak of: before its stage has brought kubectl there is nothing to
# drain either.
function Test-Joined {
    param($Machine)
    (Test-Path -LiteralPath $Machine.paths.kubeconfig) -and (Test-Path -LiteralPath $Machine.programs.kubectl)
}

# The node's name, kept once known, also where the metadata service is busy: then from what the node has joined with.
# Empty where that is torn too.
function Get-OwnName {
    param($Machine, [hashtable] $Memory = @{})
    if ($Memory.node) {
        return $Memory.node
    }
    $CallsEnd = New-Deadline 10
    try {
        $Memory.node = Get-NodeName $Machine.cloud
        return $Memory.node
    }
    catch {
        Write-Log "$_"
    }
    $name = "$((Read-Data $Machine.paths.node).name)"
    if (-not $name -and "$((Read-Certificate $Machine).Subject)" -match 'CN=system:node:([\w.-]+)') {
        $name = $Matches[1]
    }
    $name
}

# The kubelet's certificate; nothing where there is no whole one, with its key.
function Read-Certificate {
    param($Machine)
    $text = Read-Text "$($Machine.paths.certificates)/kubelet-client-current.pem"
    if ($text -notmatch '-----END [A-Z ]*PRIVATE KEY-----' -or $text -notmatch '(?s)-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----') {
        return
    }
    try {
        New-Object Security.Cryptography.X509Certificates.X509Certificate2 (, [Convert]::FromBase64String($Matches[1]))
    }
    catch {
        Write-Log "the kubelet's certificate cannot be read: $_"
    }
}

# What AWS says of this machine, and keeps for it: its name, all of its identity, the join secret.
function Get-AwsName {
    Assert-Form (Get-AwsMetadata 'instance-id') 'i-[0-9a-f]{8,17}'
}
function Get-AwsIdentity {
    $id = Get-AwsName
    $zone = Assert-Form (Get-AwsMetadata 'placement/availability-zone') '[a-z]{2}(-[a-z0-9]+)+'
    @{ name = $id; address = Assert-Form (Get-AwsMetadata 'local-ipv4') $addressForm; providerId = "aws:///$zone/$id" }
}
function Get-AwsSecret {
    param($Cloud)
    $body = @{ Name = $Cloud.joinSecret; WithDecryption = $true } | ConvertTo-Json -Compress
    (Invoke-Aws $Cloud 'ssm' 'application/x-amz-json-1.1' $body 'AmazonSSM.GetParameter' | ConvertFrom-Json).Parameter.Value
}

# The same of Azure.
function Get-AzureName {
    $env:COMPUTERNAME.ToLowerInvariant()
}
function Get-AzureIdentity {
    $instance = Get-AzureMetadata 'instance?api-version=2021-02-01'
    $id = Assert-Form $instance.compute.resourceId '/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute/[\w./-]+'
    # The cloud controller compares subscription and resource group in lower case.
    $resource = $id -replace '^/subscriptions/([^/]+)/resourceGroups/([^/]+)', ''
    @{
        name       = Get-AzureName
        address    = Assert-Form $instance.network.interface[0].ipv4.ipAddress[0].privateIpAddress $addressForm
        providerId = "azure:///subscriptions/$($instance.compute.subscriptionId.ToLowerInvariant())/resourceGroups/$($instance.compute.resourceGroupName.ToLowerInvariant())$resource"
    }
}
function Get-AzureSecret {
    param($Cloud)
    # While an identity is being updated the service answers 410 for up to 70 seconds (Azure documentation, "Use managed
    # identities on a virtual machine"), which is longer than the pauses of six attempts.
    $token = Get-AzureMetadata "identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.net&client_id=$($Cloud.clientId)" 7
    $request = @{
        Uri     = "$($Cloud.joinVault.TrimEnd('/'))/secrets/$($Cloud.joinSecret)?api-version=7.4"
        Headers = @{ Authorization = "Bearer $($token.access_token)" }
    }
    (Invoke-Web $request | ConvertFrom-Json).value
}

# The cloud is chosen here, and nowhere below.
$addressForm = '[0-9]{1,3}(\.[0-9]{1,3}){3}'
$clouds = @{
    aws   = @{ name = { Get-AwsName }; identity = { Get-AwsIdentity }; secret = { Get-AwsSecret $args[0] } }
    azure = @{ name = { Get-AzureName }; identity = { Get-AzureIdentity }; secret = { Get-AzureSecret $args[0] } }
}

function Get-OfCloud {
    param($Cloud, [string] $What)
    $question = $clouds[$Cloud.kind][$What]
    & $question $Cloud
}

# The node's name, which needs no file: one may be torn when the machine must leave.
function Get-NodeName { Get-OfCloud $args[0] 'name' }

# Name, address and provider id of this machine.
function Get-Identity { Get-OfCloud $args[0] 'identity' }

# The join secret, read with this machine's identity.
function Get-JoinSecret { Get-OfCloud $args[0] 'secret' | ConvertFrom-Json }
