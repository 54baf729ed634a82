# The one web request against a real server: answers that stop, trickle or refuse, and a clock that is wrong.
. "$PSScriptRoot/harness.ps1"
. "$scripts/files.ps1"
. "$scripts/web.ps1"
function Write-Log { }

$ready = "$temp/port"
$server = Start-Process -FilePath 'node' -ArgumentList "`"$PSScriptRoot/web-server.mjs`"", "`"$ready`"" -PassThru -NoNewWindow
$deadline = New-Deadline 60
while (-not (Read-Text $ready) -and (Get-Left $deadline) -gt 0) {
    [Threading.Thread]::Sleep(100)
}
$base = "http://127.0.0.1:$(Read-Text $ready)"
Initialize-Web

foreach ($case in Read-Table @'
path|status|text
text|200|i-0123456789abcdef0
refused-chunked|400|<Code>ValidationError</Code> No active Lifecycle Action
missing|404|
'@) {
    Test "status and text come back: $($case.path)" {
        $answer = Send-Web @{ Uri = "$base/$($case.path)" } 10
        Assert-Equal @($answer.status, $answer.text) @($case.status, "$($case.text)")
    }
}
foreach ($path in 'silent', 'trickle') {
    Test "an answer that is $path ends in time" {
        $watch = [Diagnostics.Stopwatch]::StartNew()
        Assert-Throws { Send-Web @{ Uri = "$base/$path" } 3 } '.'
        Assert-True ($watch.Elapsed.TotalSeconds -lt 15)
    }
}
Test 'a name that nobody answers for ends in time' {
    Write-Text "$scripts/nameless.ps1" (Read-Text "$scripts/web.ps1").Replace('[Net.Dns]::GetHostAddressesAsync($web.RequestUri.Host)', '(New-Object Threading.Tasks.TaskCompletionSource[object]).Task')
    Assert-Throws { & { . "$scripts/nameless.ps1"; Send-Web @{ Uri = 'http://127.0.0.1/' } 1 } } 'address of 127.0.0.1 within 1 s'
}
Test 'method, headers, type and body go out as they are' {
    $answer = Send-Web @{ Method = 'POST'; Uri = "$base/echo"; ContentType = 'application/x-www-form-urlencoded; charset=utf-8'; Body = 'a=1&b=%20'; Headers = @{ authorization = 'AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host;x, Signature=0' } } 10
    $seen = $answer.text | ConvertFrom-Json
    Assert-Equal @($seen.method, $seen.type, $seen.body, $seen.authorization) @('POST', 'application/x-www-form-urlencoded; charset=utf-8', 'a=1&b=%20', 'AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host;x, Signature=0')
    $put = (Send-Web @{ Method = 'PUT'; Uri = "$base/echo" } 10).text | ConvertFrom-Json
    Assert-Equal @($put.method, $put.length, $put.body) @('PUT', '0', '')
}
Test 'a download is the bytes that were sent, and a refusal writes no file' {
    Send-Web @{ Uri = "$base/bytes"; OutFile = "$temp/bytes" } 10 | Out-Null
    Assert-Equal ([BitConverter]::ToString([IO.File]::ReadAllBytes("$temp/bytes"))) '00-FF-0A'
    Send-Web @{ Uri = "$base/missing"; OutFile = "$temp/none" } 10 | Out-Null
    Assert-False (Test-Path "$temp/none")
}
$server.Kill()
Test 'the time comes from a proven server, and requests are signed with it' {
    function Get-AwsKey { @{ AccessKeyId = 'A'; SecretAccessKey = 's'; Token = 't' } }
    foreach ($case in @(
        @{ uri = 'https://ssm/'; date = [DateTime]::UtcNow.AddMinutes(10).ToString('R'); ahead = 10 }
        @{ uri = 'http://169.254.169.254/'; date = [DateTime]::UtcNow.AddMinutes(60).ToString('R'); ahead = 10 }
        @{ uri = 'https://ssm/'; date = 'soon'; ahead = 10 }
    )) {
        Set-Clock $case.uri $case.date
        Assert-Equal ([int] $clock.ahead.TotalMinutes) $case.ahead
    }
    $signedAt = [DateTime]::ParseExact((Get-SignedHeaders @{ region = 'r' } 'ssm' 'POST' '/' @{ host = 'h' })['x-amz-date'], "yyyyMMdd'T'HHmmss'Z'", [Globalization.CultureInfo]::InvariantCulture)
    Assert-True (($signedAt - [DateTime]::UtcNow).TotalMinutes -gt 9)
}
Complete-Tests
