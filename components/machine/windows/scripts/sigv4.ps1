# AWS Signature Version 4 as a pure function of the request (AWS documentation, "Create a signed AWS API request").

function Get-Sha256Hex {
    param([string] $Text)
    $sha = [Security.Cryptography.SHA256]::Create()
    ConvertTo-Hex $sha.ComputeHash([Text.Encoding]::UTF8.GetBytes($Text))
}

function ConvertTo-Hex {
    param([byte[]] $Bytes)
    [BitConverter]::ToString($Bytes).Replace('-', '').ToLowerInvariant()
}

function Get-Hmac {
    param([byte[]] $Key, [string] $Text)
    $hmac = New-Object Security.Cryptography.HMACSHA256
    $hmac.Key = $Key
    # The comma keeps PowerShell from unrolling the bytes.
    , $hmac.ComputeHash([Text.Encoding]::UTF8.GetBytes($Text))
}

function Get-SigningKey {
    param([string] $Secret, [string] $Day, [string] $Region, [string] $Service)
    $key = Get-Hmac ([Text.Encoding]::UTF8.GetBytes("AWS4$Secret")) $Day
    $key = Get-Hmac $key $Region
    $key = Get-Hmac $key $Service
    , (Get-Hmac $key 'aws4_request')
}

# The value of the Authorization header. Headers contains every header to be signed, including host and x-amz-date.
function Get-Authorization {
    param(
        [string] $Method,
        [string] $Path,
        [string] $Query,
        [hashtable] $Headers,
        [string] $Body,
        [string] $AccessKey,
        [string] $Secret,
        [string] $Region,
        [string] $Service
    )
    # Sort-Object would use the culture's order, which ignores hyphens.
    $names = [string[]] @($Headers.Keys | ForEach-Object { $_.ToLowerInvariant() })
    [Array]::Sort($names, [StringComparer]::Ordinal)
    $lines = foreach ($name in $names) {
        $name + ':' + ($Headers[$name].Trim() -replace ' +', ' ')
    }
    $signed = $names -join ';'
    $request = @($Method, $Path, $Query) + $lines + @('', $signed, (Get-Sha256Hex $Body))
    $date = $Headers['x-amz-date']
    $day = $date.Substring(0, 8)
    $scope = "$day/$Region/$Service/aws4_request"
    $text = 'AWS4-HMAC-SHA256', $date, $scope, (Get-Sha256Hex ($request -join "`n")) -join "`n"
    $signature = ConvertTo-Hex (Get-Hmac (Get-SigningKey $Secret $day $Region $Service) $text)
    "AWS4-HMAC-SHA256 Credential=$AccessKey/$scope, SignedHeaders=$signed, Signature=$signature"
}
