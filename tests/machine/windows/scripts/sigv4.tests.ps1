# The signature against AWS's published vectors and those of another implementation.
. "$PSScriptRoot/harness.ps1"
. "$scripts/sigv4.ps1"

$fakeFile = Get-Content -Raw -Encoding UTF8 -Path "$PSScriptRoot/sigv4Vectors.json" | ConvertFrom-Json
$get = @{ Method = 'GET'; Path = '/'; Query = ''; Body = ''; AccessKey = $fakeFile.accessKeyId; Secret = $fakeFile.secretAccessKey; Region = $fakeFile.region; Service = 'service' }

function Get-HeaderTable {
    param($Object)
    $table = @{}
    foreach ($property in $Object.PSObject.Properties) { $table[$property.Name] = [string] $property.Value }
    $table
}

# The header that a vector must give: the names of what is signed, in the order of their bytes, and the signature.
function Get-Expected {
    param($Vector)
    $names = [string[]] @($Vector.headers.PSObject.Properties.Name)
    [Array]::Sort($names, [StringComparer]::Ordinal)
    $scope = "$($fakeFile.accessKeyId)/$($fakeFile.time.Substring(0, 8))/$($fakeFile.region)/$($Vector.service)/aws4_request"
    "AWS4-HMAC-SHA256 Credential=$scope, SignedHeaders=$($names -join ';'), Signature=$($Vector.signature)"
}

foreach ($vector in $fakeFile.vectors) {
    Test "$($vector.name) ($($vector.source))" {
        $value = @{ Method = $vector.method; Path = $vector.url -replace '\?.*$', ''; Query = $vector.query; Body = $vector.body; Service = $vector.service }
        $request = $get + @{}
        foreach ($name in $value.Keys) { $request[$name] = $value[$name] }
        Assert-Equal (Get-Authorization @request -Headers (Get-HeaderTable $vector.headers)) (Get-Expected $vector)
    }
}
Test 'names of headers are written in lower case and sorted by their bytes, whatever the culture' {
    $headers = @{ 'Host' = 'example.amazonaws.com'; 'X-Amz-Date' = $fakeFile.time; 'x-a-b' = '1'; 'x-ab' = '2'; 'xab' = '3' }
    $value = Get-Authorization @get -Headers $headers
    Assert-Equal ($value -replace '^.*SignedHeaders=(.*), .*$', '$1') 'host;x-a-b;x-ab;x-amz-date;xab'
}
Complete-Tests
