# Join on AWS: files filled in, token expired, a node that has its certificate already.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"

function Invoke-Join { & "$scripts/read-join-secret.ps1" -Machine $args[0] }
function New-Case {
    $machine = New-Data @'
stages [{"name":"join","fills":["FOLDER/kubelet.yaml"]},{"name":"services","fills":[]}]
'@
    Write-Text $machine.paths.kubeconfigTemplate 'server: @API_SERVER@ ca: @CA_DATA@ token: @TOKEN@'
    Write-Text "$($machine.folder)/kubelet.yaml" 'providerID: "@PROVIDER_ID@"'
    # Notes at each folder whether the token was there already.
    $closes = {
        $fakePc.rights += @{ path = $args[0][0]; token = [bool] (Select-String -Quiet -SimpleMatch 'the-token' -Path (Join-Path (Split-Path -Parent $fakePc.file) '*.conf*') -ErrorAction SilentlyContinue) }
    }
    $answers = {
        param($Call, $Headers)
        if ($Call -notlike 'POST https://ssm.*') { return Get-AwsAnswer $Call $Headers }
        $fakePc.asked += 1
        if ($Headers['authorization'] -notlike 'AWS4-HMAC-SHA256 Credential=AKID*/*/eu-central-1/ssm/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, *') { throw "not signed: $($Headers['authorization'])" }
        ConvertTo-Data @{ Parameter = @{ Value = ($fakePc.secret | ConvertTo-Json -Compress) } }
    }
    Reset-Pc @{
        secret = @{ server = 'https://api:6443'; caCertificate = '-----END CERTIFICATE-----'; token = 'the-token'; expires = [DateTime]::UtcNow.AddHours(1).ToString('o') }
        asked = 0; rights = @(); acl = ''; file = $machine.paths.bootstrapKubeconfig; programs = @{ 'icacls.exe' = $closes }; answer = $answers
    }
    $machine
}

Test 'a new node gets its kubeconfig and files, the token into closed folders' {
    $machine = New-Case
    Invoke-Join $machine
    Assert-Equal (Read-Text $machine.paths.bootstrapKubeconfig) 'server: https://api:6443 ca: LS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQ== token: the-token'
    Assert-Equal (Read-Text "$($machine.folder)/kubelet.yaml") 'providerID: "aws:///eu-central-1a/i-0123456789abcdef0"'
    Assert-Equal (Read-Text $machine.paths.clusterCa) '-----END CERTIFICATE-----'
    $node = Get-Node $machine
    Assert-Equal @($node.name, $node.address, $node.server) @('i-0123456789abcdef0', '10.0.0.7', 'https://api:6443')
    Assert-Equal @($fakePc.rights.path) @((Split-Path -Parent $machine.paths.bootstrapKubeconfig), $machine.paths.certificates)
    Assert-Equal @($fakePc.rights.token) @($false, $false)
}
Test 'access rights that cannot be set keep the token from the disk' {
    $machine = New-Case
    Set-Values $fakePc @{ call = 'icacls.exe*'; way = 'made to fail' }
    Assert-Throws { Invoke-Join $machine } '^access rights of '
    Assert-False (Test-Path $machine.paths.bootstrapKubeconfig)
}
Test 'a token that expired is refused and not written' {
    $machine = New-Case
    $fakePc.secret.expires = [DateTime]::UtcNow.AddMinutes(-1).ToString('o')
    Assert-Throws { Invoke-Join $machine } 'expired'
    Assert-False (Test-Path $machine.paths.bootstrapKubeconfig)
}
foreach ($field in 'server', 'token', 'caCertificate', 'expires') {
    foreach ($odd in $null, '', '<html> busy') {
        Test "a join secret whose $field is '$odd' is refused, and what lies there stays" {
            $machine = New-Case
            foreach ($path in 'kubeconfig', 'bootstrapKubeconfig', 'clusterCa') { Write-Text $machine.paths.$path 'before' }
            $fakePc.secret.$field = $odd
            Assert-Throws { Invoke-Join $machine } '.'
            foreach ($path in 'kubeconfig', 'bootstrapKubeconfig', 'clusterCa') { Assert-Equal (Read-Text $machine.paths.$path) 'before' }
        }
    }
}
function Set-Certificate {
    param($Machine, $Name = 'i-0123456789abcdef0')
    Write-Text "$($Machine.paths.certificates)/kubelet-client-current.pem" (New-Pem $Name)
    Write-Text $Machine.paths.clusterCa '-----END CERTIFICATE-----'
    Write-Text $Machine.paths.kubeconfig "clusters:`n- cluster:`n    server: https://kubeconfig:6443"
}
# The rest of what may be torn is in recovery.tests.ps1.
foreach ($torn in Read-Table @'
how|text|server|asks|folder
whole|{"server":"https://node:6443"}|https://node:6443|0|
missing||https://kubeconfig:6443|0|
half|{"name":"i-0123456789abcdef0","ser|https://kubeconfig:6443|0|
a folder, with no kubeconfig to read||https://api:6443|1|True
'@) {
    Test "a node with its certificate keeps its server where its facts are $($torn.how)" {
        $machine = New-Case
        Set-Certificate $machine
        if ($torn.ContainsKey('text')) { Write-Text $machine.paths.node $torn.text }
        if ($torn.folder) {
            New-Folder $machine.paths.node
            Write-Text $machine.paths.kubeconfig 'server: torn'
        }
        Invoke-Join $machine
        Assert-Equal @((Get-Node $machine).server, $fakePc.asked) @($torn.server, $torn.asks)
        Assert-False (Test-Path $machine.paths.bootstrapKubeconfig)
    }
}
foreach ($case in Read-Table @'
address|name|error
10.0.0.7|i-0123456789abcdef0|
10.0.0.9|i-0123456789abcdef0|answered with 503
10.0.0.7|i-0fff|answered with 503
'@) {
    Test "a node that joined needs no metadata service, but to tell its disk from a copy: $($case.address), $($case.name)" {
        $machine = New-Case
        Set-Certificate $machine
        Invoke-Join $machine
        $before = Read-Text $machine.paths.node
        Set-Certificate $machine $case.name
        $fakePc.address.IPAddress = $case.address
        $fakePc.answer = { throw 'refusal 503' }
        Assert-Ends { Invoke-Join $machine } $case.error
        Assert-Equal (Read-Text $machine.paths.node) $before
    }
}
foreach ($torn in 'kubeconfig', 'clusterCa', 'name', 'expired', 'no key', 'no whole certificate') {
    Test "a node with another's certificate, or without what it joins with, joins anew: $torn" {
        $machine = New-Case
        Set-Certificate $machine
        $pem = switch ($torn) {
            'name' { New-Pem 'i-0fff' }
            'expired' { New-Pem -Hours 0 }
            'no key' { (New-Pem) -replace '-----END PRIVATE KEY-----' }
            'no whole certificate' { (New-Pem) -replace 'M', '%' }
        }
        if ($pem) { Write-Text "$($machine.paths.certificates)/kubelet-client-current.pem" $pem } else { Write-Text $machine.paths.$torn "`0`0" }
        Invoke-Join $machine
        Assert-Equal @($fakePc.asked, (Test-Path $machine.paths.bootstrapKubeconfig), (Test-Path $machine.paths.kubeconfig)) @(1, $true, $false)
    }
}
Test 'what is filled in is filled anew where template or machine is another, never from an empty one' {
    $machine = New-Case
    $file = "$($machine.folder)/kubelet.yaml"
    Invoke-Join $machine
    $fakePc.answer = { if ($args[0] -like 'POST *') { return ConvertTo-Data @{ Parameter = @{ Value = ($fakePc.secret | ConvertTo-Json -Compress) } } }; (Get-AwsAnswer $args[0] $args[1]) -replace 'i-01', 'i-02' }
    Invoke-Join $machine
    Assert-Equal (Read-Text $file) 'providerID: "aws:///eu-central-1a/i-0223456789abcdef0"'
    # User data that runs again.
    Write-Text $file 'new: "@NODE_NAME@"'
    Invoke-Join $machine
    Assert-Equal (Read-Text $file) 'new: "i-0223456789abcdef0"'
    foreach ($torn in @($file, "$file.template"), @($machine.paths.kubeconfigTemplate)) {
        foreach ($path in $torn) { [IO.File]::WriteAllText($path, '') }
        Assert-Throws { Invoke-Join $machine } 'cannot be read$'
        Write-Text $file 'new: "@NODE_NAME@"'
    }
}
Complete-Tests
