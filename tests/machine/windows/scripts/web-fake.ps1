# In place of the one request of web.ps1, in every script that reads it in. A test's block gets call, headers and body; what it returns is
# sent as text or JSON, and a refusal as status and text.
$fakeWeb = @{ answer = $null; calls = @(); last = $null }
Add-Content -Path "$scripts/web.ps1" -Value 'function Send-Web { Get-FakeAnswer @args }'

function Send-Refusal {
    param([int] $Code, [string] $Text = '')
    throw "refusal $Code $Text"
}
function Get-FakeAnswer {
    param([hashtable] $Request, [double] $Seconds)
    $fakeMethod = 'GET'
    if ($Request.Method) { $fakeMethod = $Request.Method }
    $fakeWeb.calls += "$fakeMethod $($Request.Uri)"
    $fakeWeb.last = @{ headers = $Request.Headers; type = $Request.ContentType; body = $Request.Body; file = $Request.OutFile; seconds = $Seconds }
    try {
        $fakeText = & $fakeWeb.answer "$fakeMethod $($Request.Uri)" $Request.Headers $Request.Body
    }
    catch {
        if ("$_" -match '^refusal (\d+) (.*)$') {
            return @{ status = [int] $Matches[1]; text = $Matches[2] }
        }
        throw
    }
    if ($null -ne $fakeText -and $fakeText -isnot [string]) {
        $fakeText = ConvertTo-Json -Depth 10 -Compress -InputObject $fakeText
    }
    @{ status = 200; text = "$fakeText" }
}
