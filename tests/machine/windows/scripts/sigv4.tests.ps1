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
Test 'there are vectors of each kind' {
    $kinds = @($fakeFile.vectors.service | Sort-Object -Unique)
    Assert-Equal $kinds @('autoscaling', 's3', 'service', 'ssm')
}
Test 'the signing key of the documentation' {
    $key = Get-SigningKey $fakeFile.secretAccessKey '20150830' 'us-east-1' 'iam'
    Assert-Equal (ConvertTo-Hex $key) 'c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9'
}
Test 'a changed body, header or path changes the signature' {
    $headers = @{ 'host' = 'example.amazonaws.com'; 'x-amz-date' = $fakeFile.time }
    $one = Get-Authorization @get -Headers $headers
    foreach ($change in @{ Body = 'a' }, @{ Path = '/a' }, @{ Query = 'a=b' }, @{ Method = 'POST' }, @{ Region = 'eu-central-1' }) {
        $request = $get + @{}
        foreach ($name in $change.Keys) { $request[$name] = $change[$name] }
        if ((Get-Authorization @request -Headers $headers) -eq $one) { throw "not signed: $($change.Keys)" }
    }
    $headers['x-amz-date'] = '20150830T123601Z'
    if ((Get-Authorization @get -Headers $headers) -eq $one) { throw 'the time is not signed' }
}
Test 'names of headers are written in lower case and sorted by their bytes, whatever the culture' {
    $headers = @{ 'Host' = 'example.amazonaws.com'; 'X-Amz-Date' = $fakeFile.time; 'x-a-b' = '1'; 'x-ab' = '2'; 'xab' = '3' }
    $value = Get-Authorization @get -Headers $headers
    Assert-Equal ($value -replace '^.*SignedHeaders=(.*), .*$', '$1') 'host;x-a-b;x-ab;x-amz-date;xab'
}
Complete-Tests
