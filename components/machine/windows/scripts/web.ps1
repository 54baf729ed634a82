# Web requests: the clouds' metadata services and APIs, without their modules, and AWS's signatures. AWS's user data
# holds it.
. "$PSScriptRoot/sigv4.ps1"

# Metadata is never behind a proxy, and Windows PowerShell uses TLS 1.2 only when configured to.
function Initialize-Web {
    [Net.WebRequest]::DefaultWebProxy = $null
    [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
}

# The clock's error, as the last server told: a call signed ten minutes off is refused, and the clock is set later than
# the first call.
$clock = @{ ahead = [TimeSpan]::Zero; host = [TimeSpan]::Zero }

# Learns the time from a server's answer: of one that has proved who it is, and apart from it, for its notices, of the
# metadata service, the only other that is asked.
function Set-Clock {
    param([string] $Uri, [string] $Date)
    $time = [DateTimeOffset]::MinValue
    $whose = if ($Uri -like 'https:*') { 'ahead' } else { 'host' }
    if ([DateTimeOffset]::TryParse($Date, [Globalization.CultureInfo]::InvariantCulture, 'None', [ref] $time)) {
        $clock[$whose] = $time - [DateTimeOffset]::UtcNow
    }
}

# The answer to a request with these bytes, of an error too.
function Get-Response {
    param($Web, $Bytes)
    try {
        if ($Bytes) {
            $stream = $Web.GetRequestStream()
            $stream.Write($Bytes, 0, $Bytes.Length)
            $stream.Close()
        }
        $Web.GetResponse()
    }
    catch {
        $failure = $_.Exception
        while ($failure -and -not $failure.Response) {
            $failure = $failure.InnerException
        }
        if (-not $failure) {
            throw
        }
        $failure.Response
    }
}

# One web request with a limit on the whole answer, which `-TimeoutSec` of PowerShell's own commands is not. Status and
# text, of errors too.
function Send-Web {
    param([hashtable] $Request, [double] $Seconds)
    $deadline = New-Deadline $Seconds
    $web = [Net.WebRequest]::CreateHttp($Request.Uri)
    # .NET's limit leaves out the name (HttpWebRequest.Timeout, remarks), which Windows keeps once it is known.
    if (-not [Net.Dns]::GetHostAddressesAsync($web.RequestUri.Host).Wait([int] (1000 * $Seconds))) {
        throw "nobody has said the address of $($web.RequestUri.Host) within $([int] $Seconds) s"
    }
    $web.Timeout = [int] [Math]::Max(1, 1000 * (Get-Left $deadline))
    $web.ReadWriteTimeout = 5000
    $bytes = $null
    foreach ($name in @($Request.Headers.Keys | Where-Object { $_ })) {
        $web.Headers.Add($name, $Request.Headers[$name])
    }
    if ($Request.Method) {
        $web.Method = $Request.Method
        $bytes = [Text.Encoding]::UTF8.GetBytes("$($Request.Body)")
        $web.ContentType = $Request.ContentType
        $web.ContentLength = $bytes.Length
    }
    $response = $null
    try {
        $response = Get-Response $web $bytes
        $stream = $response.GetResponseStream()
        $content = New-Object IO.MemoryStream
        $buffer = New-Object byte[] 65536
        while (($count = $stream.Read($buffer, 0, $buffer.Length)) -gt 0) {
            $content.Write($buffer, 0, $count)
            if ((Get-Left $deadline) -le 0) {
                throw "$($Request.Uri) has not answered in full within $([int] $Seconds) s"
            }
        }
        Set-Clock $Request.Uri "$($response.Headers['Date'])"
        if ($Request.OutFile -and [int] $response.StatusCode -eq 200) {
            [IO.File]::WriteAllBytes($Request.OutFile, $content.ToArray())
        }
        @{ status = [int] $response.StatusCode; text = [Text.Encoding]::UTF8.GetString($content.ToArray()) }
    }
    finally {
        # An answer that is not closed holds one of two connections.
        $web.Abort()
        if ($response) {
            $response.Close()
        }
    }
}

# The text of an answer, asked for again while the service is not ready: credentials and role assignments appear some
# time after the machine.
function Invoke-Web {
    param(
        [hashtable] $Request,
        [int] $Attempts = 6,
        # Refusals that are final, as a pattern over status and text: they are no error and return an empty string.
        [string] $Final = '^$',
        # Returns new headers for each attempt: session tokens, keys and signatures expire.
        [scriptblock] $Fresh
    )
    for ($attempt = 1; $true; $attempt += 1) {
        $what = "$($Request.Method) $($Request.Uri -replace '[?].*$', '')"
        # A caller with a deadline has it in this variable: nothing here takes longer than what is left of it.
        $left = 20
        if ($CallsEnd) {
            $left = Get-Left $CallsEnd 20
        }
        try {
            if ($left -le 0) {
                throw 'there is no time left'
            }
            if ($Fresh) {
                $Request.Headers = & $Fresh
            }
            $answer = Send-Web $Request $left
            if ($answer.status -lt 300) {
                return $answer.text
            }
            if ("$($answer.status) $($answer.text)" -match $Final) {
                return ''
            }
            # Of the text the error's code alone: the rest may echo what was sent.
            $code = ''
            if ($answer.text -match '(?:<Code>|"(?:__type|code)"\s*:\s*")([\w.#]+)') {
                $code = $Matches[1]
            }
            throw "answered with $($answer.status) $code"
        }
        catch {
            $words = "${what}: $($_.Exception.GetBaseException().Message)"
            Write-Log "attempt $attempt of $words"
            $pause = [Math]::Min(30, [Math]::Pow(2, $attempt))
            if ($attempt -ge $Attempts -or $left -le 0 -or ($CallsEnd -and (Get-Left $CallsEnd) -lt $pause)) {
                throw $words
            }
            Start-Sleep -Seconds $pause
        }
    }
}

# A value from AWS's instance metadata service, version 2. Empty when it has none.
function Get-AwsMetadata {
    param([string] $Path, [int] $Attempts = 6)
    $base = 'http://169.254.169.254/latest'
    Invoke-Web @{ Uri = "$base/meta-data/$Path" } -Attempts $Attempts -Final '^404 ' -Fresh {
        @{ 'X-aws-ec2-metadata-token' = Invoke-Web @{ Method = 'PUT'; Uri = "$base/api/token"; Headers = @{ 'X-aws-ec2-metadata-token-ttl-seconds' = '300' } } -Attempts 1 }
    }
}

# Temporary keys of the instance's role.
function Get-AwsKey {
    $role = Get-AwsMetadata 'iam/security-credentials/'
    $key = Get-AwsMetadata "iam/security-credentials/$role" | ConvertFrom-Json
    if (-not $key.AccessKeyId) {
        throw 'the instance has no credentials yet'
    }
    $key
}

# A request's headers with the signature. Those that .NET sets itself, from the address and from ContentType, are signed
# but not returned.
function Get-SignedHeaders {
    param($Cloud, [string] $Service, [string] $Method, [string] $Path, [hashtable] $Headers, [string] $Body = '')
    $key = Get-AwsKey
    $signed = $Headers.Clone()
    $signed['x-amz-date'] = ([DateTime]::UtcNow + $clock.ahead).ToString('yyyyMMddTHHmmssZ', [Globalization.CultureInfo]::InvariantCulture)
    $signed['x-amz-security-token'] = $key.Token
    $authorization = Get-Authorization -Method $Method -Path $Path -Query '' -Headers $signed -Body $Body -AccessKey $key.AccessKeyId -Secret $key.SecretAccessKey -Region $Cloud.region -Service $Service
    $signed.Remove('host')
    $signed.Remove('content-type')
    $signed['authorization'] = $authorization
    $signed
}

# A signed AWS API call with the instance's role.
function Invoke-Aws {
    param($Cloud, [string] $Service, [string] $ContentType, [string] $Body, [string] $Target = '', [string] $Final = '^$')
    $name = "$Service.$($Cloud.region).$($Cloud.domain)"
    $headers = @{ 'content-type' = $ContentType; 'host' = $name }
    if ($Target) {
        $headers['x-amz-target'] = $Target
    }
    Invoke-Web @{ Method = 'POST'; Uri = "https://$name/"; ContentType = $ContentType; Body = $Body } -Final $Final -Fresh {
        Get-SignedHeaders $Cloud $Service 'POST' '/' $headers $Body
    }
}

# Fetches an S3 object. S3 requires the hash of the body, here an empty one, as a header.
function Invoke-AwsFetch {
    param($Cloud, $Object, [string] $File)
    $name = "$($Object.bucket).s3.$($Cloud.region).$($Cloud.domain)"
    $headers = @{ 'host' = $name; 'x-amz-content-sha256' = Get-Sha256Hex '' }
    Invoke-Web @{ Uri = "https://$name/$($Object.key)"; OutFile = $File } -Attempts 1 -Fresh {
        Get-SignedHeaders $Cloud 's3' 'GET' "/$($Object.key)" $headers
    } | Out-Null
}
