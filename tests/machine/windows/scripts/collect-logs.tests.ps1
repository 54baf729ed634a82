# The zip for whoever helps: it has its parts, and no secret.
. "$PSScriptRoot/harness.ps1"
$case = Join-Path $temp 'node'
New-Item -ItemType Directory -Force -Path "$case/scripts", "$case/logs/dumps", "$case/state", "$case/cloud" | Out-Null
foreach ($name in 'lib.ps1', 'collect-logs.ps1') {
    Copy-Item -LiteralPath "$scripts/$name" -Destination "$case/scripts"
}
# In place of the calls into Windows.
Set-Content -Path "$case/scripts/hns.ps1" -Value @(
    'function Invoke-Hns {'
    'param('
    '[string] $Method,'
    '[string] $Path'
    ')'
    'if ($Path -like "*policylists*") { throw "HNS does not answer" }'
    '@{ Name = "flannel.4096 of $Path" }'
    '}'
)

$token = 'abcdef.0123456789abcdef'
$web = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl'
$awsKey = 'ASIA' + 'ABCDEFGHIJKLMNOP'
$secretKey = 'wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY'
$password = 'correct-horse-battery'
$pem = 'MHcCAQEEIODEFINITELYNOTAKEY'
$memory = 'memory-of-the-kubelet'
Set-Content -Path "$case/logs/join.log" -Value @(
    'stage join: start'
    "using token $token"
    "Authorization: Bearer $web"
    "{`"AccessKeyId`":`"$awsKey`",`"SecretAccessKey`":`"$secretKey`"}"
    "password=$password"
    '-----BEGIN EC PRIVATE KEY-----'
    $pem
    '-----END EC PRIVATE KEY-----'
    'stage join: failed after 3 s: the join token expired'
)
Set-Content -Path "$case/logs/bootstrap-kubelet.conf" -Value "token: $token"
Set-Content -Path "$case/logs/client.pem" -Value $pem
Set-Content -Path "$case/logs/dumps/kubelet.exe.123.dmp" -Value $memory
Set-Content -Path "$case/logs/dumps/note.txt" -Value $memory
Set-Content -Path "$case/state/os.json" -Value '{"hash":"0123456789abcdef"}'
Set-Content -Path "$case/cloud/agent.log" -Value "extension ran with $web"
Set-Content -Path "$case/10-flannel.conflist" -Value '{"name":"flannel.4096"}'
Set-Content -Path "$case/subnet.env" -Value 'FLANNEL_SUBNET=10.244.3.1/24'
$machine = @{
    paths           = @{ logs = "$case/logs"; state = "$case/state"; machine = "$case/scripts/machine.json"; dumps = "$case/logs/dumps"; containerdConfig = 'c.toml' }
    network         = @{ conflist = "$case/10-flannel.conflist"; subnetFile = "$case/subnet.env" }
    programs        = @{ crictl = 'Invoke-Crictl' }
    services        = @{ containerd = @{ program = 'Invoke-Containerd' } }
    kubeletEndpoint = 'npipe:////./pipe/containerd-containerd'
    cloudLogs       = @("$case/cloud")
}
Set-Content -Path "$case/scripts/machine.json" -Value ($machine | ConvertTo-Json -Depth 10)

$rights = @{ folders = @() }
function icacls.exe {
    $rights.folders += $args[0]
    $global:LASTEXITCODE = 0
}
function Invoke-Crictl {
    "crictl $($args -join ' ')"
}
function Invoke-Containerd {
    "auth = `"Bearer $web`""
}
function Get-Service {
    'kubelet Running'
}
function Get-ScheduledTask {
    'fenestra-run'
}
function Get-ScheduledTaskInfo {
    'last result 25'
}
function Get-NetRoute {
    '169.254.169.254/32'
}
function Get-NetIPAddress {
    '10.0.0.7'
}
function Get-NetAdapter {
    throw 'no adapter'
}
function Get-WindowsFeature {
    New-Object PSObject -Property @{ Name = 'Containers'; InstallState = 'Installed' }
}
function Get-CimInstance {
    New-Object PSObject -Property @{ FreePhysicalMemory = 4711 }
}
function Get-WinEvent {
    New-Object PSObject -Property @{ TimeCreated = '12:00'; ProviderName = 'fenestra'; Id = 1; Message = "joined with $token" }
}

$zip = Join-Path $temp 'logs.zip'
$open = Join-Path $temp 'open'
& "$case/scripts/collect-logs.ps1" -Destination $zip
Expand-Archive -LiteralPath $zip -DestinationPath $open
$files = @(Get-ChildItem -Recurse -File -LiteralPath $open)
$all = ($files | ForEach-Object { Get-Content -Raw -LiteralPath $_.FullName }) -join "`n"

Test 'it has a file for each question, also for one that fails' {
    $names = @(Get-ChildItem -File -LiteralPath $open | ForEach-Object { $_.Name } | Sort-Object)
    $expected = 'adapters', 'addresses', 'containerd-config', 'crictl-containers', 'crictl-info', 'crictl-pods', 'dumps', 'events', 'features', 'hns-endpoints', 'hns-networks', 'hns-policylists', 'memory', 'routes', 'services', 'tasks'
    Assert-Equal $names @($expected | ForEach-Object { "$_.txt" })
    Assert-Equal (Get-Content -Raw "$open/hns-policylists.txt").Trim() 'HNS does not answer'
    Assert-Equal (Get-Content -Raw "$open/adapters.txt").Trim() 'no adapter'
    Assert-Equal (Get-Content -Raw "$open/hns-networks.txt").Contains('flannel.4096 of /networks/') $true
    Assert-Equal (Get-Content -Raw "$open/crictl-pods.txt").Trim() 'crictl --runtime-endpoint npipe:////./pipe/containerd-containerd pods'
}
Test 'it has logs, stage state, machine data, the network''s files and the cloud''s logs' {
    $names = @($files | ForEach-Object { $_.Name })
    foreach ($name in 'join.log', 'os.json', 'machine.json', '10-flannel.conflist', 'subnet.env', 'agent.log') {
        Assert-Equal "$name $($names -contains $name)" "$name True"
    }
}
Test 'what happened can still be read' {
    foreach ($text in 'stage join: start', 'stage join: failed after 3 s: the join token expired', 'FLANNEL_SUBNET=10.244.3.1/24', '0123456789abcdef', '4711') {
        Assert-Equal "$text $($all.Contains($text))" "$text True"
    }
    Assert-Equal (Get-Content -Raw "$open/dumps.txt").Contains('kubelet.exe.123.dmp') $true
}
Test 'no secret is in it' {
    foreach ($secret in $token, $web, $awsKey, $secretKey, $password, $pem) {
        Assert-Equal "$($secret.Substring(0, 4)) $($all.Contains($secret))" "$($secret.Substring(0, 4)) False"
    }
}
Test 'no kubeconfig, no key and no memory of a program is in it' {
    $kinds = @($files | ForEach-Object { $_.Extension } | Sort-Object -Unique)
    foreach ($kind in '.conf', '.pem', '.dmp') {
        Assert-Equal "$kind $($kinds -contains $kind)" "$kind False"
    }
    Assert-Equal $all.Contains($memory) $false
}
Test 'what was put together is closed to others while it is there, and gone at the end' {
    Assert-Equal $rights.folders.Count 1
    Assert-Equal (Test-Path -LiteralPath $rights.folders[0]) $false
}
Test 'a second zip takes the place of the first' {
    & "$case/scripts/collect-logs.ps1" -Destination $zip
    Assert-Equal (Test-Path -LiteralPath $zip) $true
    Assert-Equal $rights.folders.Count 2
}
Complete-Tests
