# The signature against AWS's published vectors (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4) and those of
# another implementation (made with botocore 1.43.11, SigV4Auth), as a machine sends them.
. "$PSScriptRoot/harness.ps1"
. "$scripts/sigv4.ps1"

$time = '20150830T123600Z'
$fakeToken = 'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=='
$get = @{ Method = 'GET'; Path = '/'; Query = ''; Body = ''; AccessKey = 'AKIDEXAMPLE'; Secret = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'; Region = 'us-east-1'; Service = 'service' }
foreach ($vector in Read-Table @'
name|by|service|method|path|query|body|headers|signature
get-vanilla|AWS|service|GET|/|||host:example.amazonaws.com|5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31
get-unreserved|AWS|service|GET|/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz|||host:example.amazonaws.com|07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f
get-vanilla-query-order-key-case|AWS|service|GET|/|Param1=value1&Param2=value2||host:example.amazonaws.com|b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500
get-header-value-trim|AWS|service|GET|/|||host:example.amazonaws.com~my-header1: value1~my-header2: "a   b   c"|acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736
GetParameter|botocore|ssm|POST|/||{"Name":"/fenestra/demo/join","WithDecryption":true}|content-type:application/x-amz-json-1.1~host:ssm.us-east-1.amazonaws.com~x-amz-security-token:TOKEN~x-amz-target:AmazonSSM.GetParameter|753661c00bf98ee54aee2f088282629be888a9ca3b7632bc5c631eafa7f725be
CompleteLifecycleAction|botocore|autoscaling|POST|/||Action=CompleteLifecycleAction&Version=2011-01-01&AutoScalingGroupName=demo-win&LifecycleHookName=join&InstanceId=i-0123456789abcdef0&LifecycleActionResult=CONTINUE|content-type:application/x-www-form-urlencoded; charset=utf-8~host:autoscaling.us-east-1.amazonaws.com~x-amz-security-token:TOKEN|072aebed28f761cf0f0749919445e6d6e6c51d4c9c4171f34766133165465b13
GetObject of S3|botocore|s3|GET|/fenestra/demo/scripts.gz|||host:demo-bucket.s3.us-east-1.amazonaws.com~x-amz-content-sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855~x-amz-security-token:TOKEN|af07ee7e82942af4a8685fb9d2974651ea489f9fc0ec4e3e121c0729d3f6d254
'@) {
    Test "$($vector.name) ($($vector.by))" {
        $request = $get + @{}
        foreach ($name in 'service', 'method', 'path', 'query', 'body') { $request[$name] = "$($vector.$name)" }
        $headers = @{ 'x-amz-date' = $time }
        foreach ($header in $vector.headers.Replace('TOKEN', $fakeToken) -split '~') { $name, $headers[$name] = $header -split ':', 2 }
        # The names of what is signed are in the order of their bytes.
        $names = [string[]] @($headers.Keys)
        [Array]::Sort($names, [StringComparer]::Ordinal)
        Assert-Equal (Get-Authorization @request -Headers $headers) "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/$($vector.service)/aws4_request, SignedHeaders=$($names -join ';'), Signature=$($vector.signature)"
    }
}
Complete-Tests
