# In place of the one request of web.ps1, in every script that reads it in. A test's block gets call, headers and body;
# what it returns is sent as text or JSON, and a refusal as status and text.
$fakeWeb = @{ answer = $null; calls = @(); last = $null; tokens = 0; keys = 0 }
Add-Content -Path "$scripts/web.ps1" -Value 'function Send-Web { Get-FakeAnswer @args }'

function Send-Refusal {
    param($Code, $Text = '')
    throw "refusal $Code $Text"
}
function Get-FakeAnswer {
    param($Request, $Seconds)
    $fakeMethod = 'GET'
    if ($Request.Method) { $fakeMethod = $Request.Method }
    $fakeWeb.calls += "$fakeMethod $($Request.Uri)"
    $fakeWeb.last = @{ headers = $Request.Headers; type = $Request.ContentType; body = $Request.Body; file = $Request.OutFile; seconds = $Seconds }
    try {
        $fakeText = & $fakeWeb.answer "$fakeMethod $($Request.Uri)" $Request.Headers $Request.Body
    }
    catch {
        if ("$_" -match '^refusal (\d+) ?(.*)$') {
            return @{ status = [int] $Matches[1]; text = $Matches[2] }
        }
        throw
    }
    if ($null -ne $fakeText -and $fakeText -isnot [string]) {
        $fakeText = ConvertTo-Json -Depth 10 -Compress -InputObject $fakeText
    }
    @{ status = 200; text = "$fakeText" }
}

$imds = 'http://169.254.169.254/latest'

# The metadata service of AWS in a few lines: every token and every pair of keys is a new one.
function Get-AwsAnswer {
    param($Call, $Headers)
    if ($Call -eq "PUT $imds/api/token") {
        Assert-Equal $Headers['X-aws-ec2-metadata-token-ttl-seconds'] '300'
        $fakeWeb.tokens += 1
        return "session-$($fakeWeb.tokens)"
    }
    if ("$($Headers['X-aws-ec2-metadata-token'])" -notlike 'session-*') { Send-Refusal 401 }
    switch ($Call.Replace("GET $imds/meta-data/", '')) {
        'instance-id' { return 'i-0123456789abcdef0' }
        'placement/availability-zone' { return 'eu-central-1a' }
        'local-ipv4' { return '10.0.0.7' }
        'iam/security-credentials/' { return 'role' }
        'iam/security-credentials/role' {
            $fakeWeb.keys += 1
            return "{`"AccessKeyId`":`"AKID$($fakeWeb.keys)`",`"SecretAccessKey`":`"secret`",`"Token`":`"token$($fakeWeb.keys)`",`"Expiration`":`"2026-01-01T06:00:00Z`"}"
        }
    }
    Send-Refusal 404
}
