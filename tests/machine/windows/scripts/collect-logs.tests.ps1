# The archive for whoever helps: it has its parts, and no secret.
. "$PSScriptRoot/harness.ps1"
. "$scripts/files.ps1"
$machine = New-Data @'
paths.logs FOLDER/logs
paths.state FOLDER/state
paths.machine FOLDER/scripts/machine.json
paths.dumps FOLDER/logs/dumps
cloudLogs[] FOLDER/cloud
'@
$case = $machine.folder
New-Item -ItemType Directory -Force -Path "$case/scripts", "$case/logs/dumps", "$case/state", "$case/cloud" | Out-Null
foreach ($name in 'files.ps1', 'lib.ps1', 'collect-logs.ps1', 'secret-patterns.txt') {
    Copy-Item "$scripts/$name" -Destination "$case/scripts"
}
# Smaller limits take less time.
Write-Text "$case/scripts/collect-logs.ps1" (Read-Text "$case/scripts/collect-logs.ps1").Replace('20971520', '209715').Replace('seconds = 120', 'seconds = 25')
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

# The same folder of planted secrets that Linux' collection is tested with: a line each, the secret between << and >>.
$planted = @([IO.File]::ReadAllLines("$PSScriptRoot/../../planted-secrets.txt") | Where-Object { $_ })
$secrets = @($planted | ForEach-Object { [Regex]::Matches($_, '<<(.+?)>>') } | ForEach-Object { $_.Groups[1].Value })
$lines = @($planted -replace '<<|>>', '')
$fakeToken = 'abcdef.0123456789abcdef'
$pem = 'MHcCAQEEIODEFINITELYNOTAKEY'
$memory = 'memory-of-the-kubelet'
Set-Content -Path "$case/logs/join.log" -Value (@('stage join: start') + $lines + 'stage join: failed after 3 s: the join token expired')
[IO.File]::WriteAllText("$case/logs/utf16.log", ($lines -join "`r`n"), (New-Object Text.UnicodeEncoding $false, $false))
# As 5.1 appends to a file of another program.
$wide = (New-Object Text.UnicodeEncoding $false, $false).GetBytes($lines -join "`r`n")
[IO.File]::WriteAllBytes("$case/logs/mixed.log", [Text.Encoding]::UTF8.GetBytes('an agent has begun this log, which goes on in another encoding: ') + $wide)
Set-Content -Path "$case/state/x-KUBECONFIG.json" -Value $lines
[IO.File]::WriteAllBytes("$case/logs/big.log", (New-Object byte[] 220000))
Write-Text "$case/logs/bootstrap-kubelet.conf" "token: $fakeToken"
Write-Text "$case/logs/client.pem" $pem
Write-Text "$case/logs/dumps/kubelet.exe.123.dmp" $memory
Write-Text "$case/logs/dumps/note.txt" $memory
Write-Text "$case/state/os.json" '{"hash":"0123456789abcdef"}'
Write-Text "$case/cloud/agent.log" "extension ran with $($lines[0])"
Write-Text $machine.network.conflist '{"name":"flannel.4096"}'
Write-Text $machine.network.subnetFile 'FLANNEL_SUBNET=10.244.3.1/24'
$machine.programs.crictl = New-Program 'crictl' '"crictl $args"'
$machine.services.containerd.program = New-Program 'containerd' "Write-Output 'auth = $($lines[0])'"
Write-Text "$case/scripts/machine.json" ($machine | ConvertTo-Json -Depth 20)

if (-not $onWindows) {
    New-Program 'icacls.exe' "`$args[0] | Add-Content -Path '$temp/rights'" | Out-Null
    & ln -s (Get-Command tar).Path "$temp/bin/tar.exe"
}
# Each question has a runspace of its own.
Add-Content -Path "$case/scripts/lib.ps1" -Value @'
function New-CimSession { 'session' }
function Remove-CimSession { }
function Get-Service { 'kubelet Running' }
function Get-ScheduledTask { 'fenestra-run' }
function Get-ScheduledTaskInfo { 'last result 25' }
function Get-NetRoute { '169.254.169.254/32' }
function Get-NetIPAddress { '10.0.0.7' }
# As the commands of CIM: an error that is not thrown.
function Get-NetAdapter { Write-Error 'no adapter' }
# As a provider that hangs.
function Get-WindowsFeature { if ($env:FAKE_HANGS) { [Threading.Thread]::Sleep(3600000) } }
function Get-CimInstance {
    param($ClassName, $CimSession)
    if ($CimSession -ne 'session') { throw 'no limit' }
    [PSCustomObject] @{ FreePhysicalMemory = 4711 }
}
function Get-WinEvent {
    [PSCustomObject] @{ TimeCreated = '12:00'; ProviderName = 'fenestra'; Id = 1; Message = 'joined with abcdef.0123456789abcdef' }
}
'@

$packed = Join-Path $temp 'logs.tar.gz'
$open = Join-Path $temp 'open'
$env:FAKE_HANGS = 'yes'
$hung = Start-Process -FilePath $shell -ArgumentList '-NoProfile', '-NonInteractive', '-File', "$case/scripts/collect-logs.ps1", '-Destination', $packed -PassThru
$hung.Handle | Out-Null
$ended = $hung.WaitForExit(120000)
if (-not $ended) { $hung.Kill() }
$env:FAKE_HANGS = ''
New-Item -ItemType Directory -Path $open | Out-Null
& tar -xzf $packed -C $open
$files = @(Get-ChildItem -Recurse -File $open)
$all = ($files | ForEach-Object { (Get-Content -Raw $_.FullName) -replace "`0" }) -join "`n"

Test 'it has a file for each question, also for one that fails, and ends where one hangs' {
    Assert-Equal @($ended, $hung.ExitCode) @($true, 0)
    $names = @(Get-ChildItem -File -Name $open | Sort-Object)
    Assert-Equal $names @('adapters', 'addresses', 'containerd-config', 'crictl-info', 'crictl-pods', 'crictl-ps', 'dumps', 'events', 'features', 'hns-endpoints', 'hns-networks', 'hns-policylists', 'left-out', 'memory', 'routes', 'services', 'tasks' | ForEach-Object { "$_.txt" })
    Assert-Equal (Read-Text "$open/hns-policylists.txt").Trim() 'HNS does not answer'
    Assert-Equal (Read-Text "$open/adapters.txt").Trim() 'no adapter'
    Assert-Equal (Read-Text "$open/features.txt").Trim() 'no answer within 25 s'
    Assert-True (Read-Text "$open/hns-networks.txt").Contains('flannel.4096 of /networks/')
    Assert-Equal (Read-Text "$open/crictl-pods.txt").Trim() 'crictl --runtime-endpoint npipe:////./pipe/containerd-containerd --timeout 60s pods'
}
Test 'it has logs, states, data and the network''s files, readable' {
    $names = @('join.log', 'os.json', 'machine.json', '10-flannel.conflist', 'subnet.env', 'agent.log')
    Assert-Equal @($names | Where-Object { $files.Name -notcontains $_ }) @()
    Assert-Equal @('stage join: start', 'stage join: failed after 3 s: the join token expired', 'FLANNEL_SUBNET=10.244.3.1/24', '0123456789abcdef', '4711', 'kubelet.exe.123.dmp' | Where-Object { -not $all.Contains($_) }) @()
}
Test 'no secret, kubeconfig, key or memory of a program is in it' {
    Assert-True ($secrets.Count -gt 20)
    Assert-Equal @($secrets + $pem + $memory | Where-Object { $all.Contains($_) }) @()
    Assert-Equal @($files.Extension -match '^\.(conf|pem|dmp)$') @()
}
Test 'of a large file the end is there, and what is left out is said' {
    Assert-True (Read-Text "$open/left-out.txt").Contains('big.log: all but the last 209715 of 220000 bytes')
}
Test 'its parts are closed, and gone at the end; a second archive replaces the first' {
    New-Item -ItemType Directory -Path "$temp/tmp"
    $env:TMPDIR = $env:TMP = "$temp/tmp"
    & "$case/scripts/collect-logs.ps1" -Destination $packed
    Assert-True (Test-Path $packed)
    Assert-Equal @(Get-ChildItem -Name "$temp/tmp") @()
    if (-not $onWindows) { Assert-Equal @(Get-Content "$temp/rights").Count 2 }
}
Complete-Tests
