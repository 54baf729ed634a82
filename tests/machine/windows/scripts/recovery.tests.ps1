# The whole boot of a pool's machine, its data and all its stages, on a Windows of fakes: it ends Ready from any state in
# which a power failure leaves its files, once all that it calls answers.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/network-fakes.ps1"
. "$scripts/files.ps1"
. "$PSScriptRoot/web-fake.ps1"

$drive = "$temp/drive"
$fakePc = @{}
$fakeServices = @{}
# What only Windows has, in place of the types that the scripts name.
$fakeEvents = New-Object Collections.Generic.List[string]
function New-FakeKey {
    param($Path)
    if (-not $fakePc.keys.ContainsKey($Path)) { $fakePc.keys[$Path] = @{} }
    New-Fake @{ values = $fakePc.keys[$Path] } @{
        GetValue         = { $this.values.Item($args[0]) }
        SetValue         = { $this.values.($args[0]) = $args[1] }
        SetAccessControl = { $this.values.sddl = $args[0].sddl }
        Close            = { return }
    }
}
$fakeRegistry = New-Fake @{} @{
    CreateSubKey = { New-FakeKey $args[0] }
    OpenSubKey   = { if ($fakeServices.ContainsKey('containerd')) { New-FakeKey $args[0] } }
}
function New-FakeSecurity {
    New-Fake @{ sddl = '' } @{ SetSecurityDescriptorSddlForm = { $this.sddl = $args[0] } }
}
function New-FakePort {
    New-Fake @{ WriteTimeout = 0 } @{ Open = { return }; Dispose = { return }; WriteLine = { $fakePc.console += $args[0] } }
}
foreach ($script in Get-ChildItem -Filter *.ps1 -LiteralPath $scripts) {
    $text = [IO.File]::ReadAllText($script.FullName)
    $text = $text.Replace('[Microsoft.Win32.Registry]::LocalMachine', '$fakeRegistry')
    $text = $text.Replace('New-Object Security.AccessControl.RegistrySecurity', 'New-FakeSecurity').Replace('New-Object IO.Ports.SerialPort $ConsolePort, 115200', 'New-FakePort')
    [IO.File]::WriteAllText($script.FullName, $text.Replace('Global\fenestra-', "Global\fenestra-$PID-"))
}
Add-Content -Path "$scripts/files.ps1" -Value 'function Write-Event { $fakeEvents.Add($args[0]) }'
Add-Content -Path "$scripts/lib.ps1" -Value @((Get-Content -Raw -LiteralPath "$PSScriptRoot/wait-fake.ps1"), 'function Invoke-Program { Invoke-FakeProgram @args }')
# Without the log.
function Write-Host {
    param($Line)
    if ($Line -notmatch '^\d{4}-|^/') { Microsoft.PowerShell.Utility\Write-Host $Line }
}
function Start-Sleep {
    param($Seconds)
    Step-Adapter
    # Pauses between attempts are longer than any other.
    if ($Seconds -ge 10) { $fakePc.pauses += 1 }
    if ($fakePc.pauses -gt 60) { throw "it does not end: $(@($fakeEvents)[-3..-1] -join '; ')" }
}

function Test-Good {
    param($File, $Pattern = '^MZ')
    (Read-Text "$drive$File") -match $Pattern
}
# Programs come as their names. An archive has the programs that these fakes run.
$fakeArchives = @{ containerd = 'bin/containerd.exe'; crictl = 'crictl.exe'; 'cni-plugins' = 'host-local.exe' }
function Start-Process {
    param($FilePath, $ArgumentList, $WindowStyle, $RedirectStandardOutput, $RedirectStandardError, [switch] $PassThru, [switch] $NoNewWindow)
    $code = 0
    $words = "$ArgumentList"
    if ($FilePath -eq 'curl.exe') {
        $list = @($ArgumentList)
        [IO.File]::WriteAllText("$($list[-2])".Trim('"'), "MZ $([IO.Path]::GetFileName("$($list[-1])".Trim('"')))")
    }
    elseif ($words -like '*\stage.ps1" -Name *') {
        $fakeStage = $words.Split(' ')[-1]
        $fakePc.ran += $fakeStage
        & "$scripts/stage.ps1" -Name $fakeStage | Out-Null
        $code = $LASTEXITCODE
    }
    elseif ($FilePath -like '*flanneld.exe') {
        if (-not (Test-Good '/fenestra/bin/flanneld.exe')) { throw 'flanneld.exe: 193' }
        Invoke-Flanneld $fakeData.network.name '10.244.3.0/24'
        Write-Text $fakeData.network.subnetFile 'FLANNEL_SUBNET=10.244.3.1/24'
    }
    elseif ($FilePath -like '*kube-proxy.exe') { $fakePc.proxy = $words }
    New-Fake @{ Handle = 1; ExitCode = $code; HasExited = $false; Id = 7 } @{
        WaitForExit = { if ($args.Count -gt 0) { $true } }
        Kill        = { return }
    }
}
function Invoke-FakeProgram {
    param($Path, $Arguments, $Accept, $Seconds, $Text)
    $name = [IO.Path]::GetFileName($Path)
    if ($Path.StartsWith($drive) -and -not (Test-Good $Path.Substring($drive.Length))) { throw "program $Path does not start: 193" }
    switch ($name) {
        'tar.exe' {
            $archive = @($fakeData.artifacts | Where-Object { "$($fakeData.paths.downloads)/$($_.file)" -eq $Arguments[1] })[0]
            if (-not $fakeArchives[$archive.name]) { return }
            if ($Arguments[0] -eq '-tzf') { return $fakeArchives[$archive.name] }
            New-Folder (Split-Path -Parent "$($archive.folder)/$($fakeArchives[$archive.name])")
            [IO.File]::WriteAllText("$($archive.folder)/$($fakeArchives[$archive.name])", "MZ $($archive.name)")
        }
        'containerd.exe' {
            $fakeServices.Remove('containerd')
            if ($Arguments[0] -eq '--register-service') { $fakeServices.containerd = @{ status = 'Stopped'; program = 1 } }
        }
        'curl.exe' {
            if ($fakePc.alone) { throw 'nobody answers' }
            Get-TextDigest "MZ $([IO.Path]::GetFileName($Arguments[-1]) -replace '\.sha\d+$')"
        }
        'shutdown.exe' {
            $fakePc.refused -= 1
            if ($fakePc.refused -ge 0) { throw 'shutdown.exe ended with 5' }
            $fakePc.restart = $true
        }
        'host-local.exe' {
            if ($env:CNI_COMMAND -eq 'DEL') { return }
            Write-Text "$($fakeData.network.reservations)/10.244.3.2" "$($fakeData.network.sourceVip.container)`nsource-vip"
            '{"ips":[{"address":"10.244.3.2/24"}]}'
        }
        'kubectl.exe' {
            if ($Arguments -contains 'jsonpath={.spec.podCIDR}') { return '10.244.3.0/24' }
            if ("$Arguments" -notlike '* get node *') { return }
            if (-not (Test-FakeReady)) { throw 'kubectl ended with 1' }
            'Ready=True;'
        }
    }
}
# A kubelet registers its node with what it finds, and the node is Ready when the agents have made its network.
function Test-FakeReady {
    $joins = (Test-Good '/etc/kubernetes/kubelet.conf' 'server:') -and (Test-Good '/var/lib/kubelet/pki/kubelet-client-current.pem' 'PRIVATE KEY')
    $whole = (Test-Good '/etc/kubernetes/kubelet-config.yaml' 'aws:///eu-central-1a/i-') -and (Test-Good '/etc/kubernetes/pki/ca.crt' 'END CERTIFICATE') -and (Test-Good '/fenestra/bin/kubelet.exe') -and (Test-Good '/fenestra/bin/kube-log-runner.exe')
    if (-not $whole -or $fakeServices.kubelet.status -ne 'Running' -or $fakeServices.containerd.status -ne 'Running') { return $false }
    if (-not $joins) {
        if (-not (Test-Good '/etc/kubernetes/bootstrap-kubelet.conf' 'abcdef')) { return $false }
        Write-Text $fakeData.paths.kubeconfig 'server: https://api:6443'
        Write-Text "$($fakeData.paths.certificates)/kubelet-client-current.pem" $fakePem
    }
    if (-not (Test-Path -LiteralPath $fakeData.network.conflist)) {
        try {
            & "$scripts/start-flanneld.ps1" | Out-Null
        }
        catch {
            return $false
        }
    }
    (Read-Text $fakeData.network.conflist) -match '"flannel' -and -not $fakePc.hung
}

# For tests in which calls fail.
function Step-Call { }
function Get-Service {
    param($Name)
    if (-not $fakeServices.ContainsKey($Name)) { return }
    $service = New-Fake @{ Name = $Name } @{
        Stop          = { Step-Call "stop $($this.Name)"; $fakeServices[$this.Name].status = 'Stopped' }
        WaitForStatus = { return }
        Start         = {
            Step-Call "start $($this.Name)"
            if ($this.Name -eq 'hns') { $fakePc.hung = $false }
            if ('kubelet', 'containerd' -contains $this.Name -and -not (Test-Good "/fenestra/bin/$($this.Name).exe")) { throw "cannot start $($this.Name): 193" }
            if ($this.Name -eq 'containerd') { Write-Text $fakeData.services.containerd.pipe 'pipe' }
            $fakeServices[$this.Name].status = 'Running'
        }
    }
    $service | Add-Member ScriptProperty Status { $fakeServices[$this.Name].status }
    $service
}
function Set-Service { }
function Get-Acl { @{ Sddl = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)' } }
function New-Service {
    param($Name)
    $fakeServices[$Name] = @{ status = 'Stopped' }
}
function Get-CimInstance {
    param($ClassName, $Filter)
    if ($Filter -eq "Name='kubelet'" -and $fakeServices.ContainsKey('kubelet')) { return @{ Name = 'kubelet'; ProcessId = 0 } }
}
function Invoke-CimMethod { @{ ReturnValue = 0 } }
function New-CimSession { 'session' }
function Remove-CimSession { }
function Get-Process { }
function Stop-Process { }
function Get-NetFirewallRule { }
function New-NetFirewallRule { }
function Get-SmbGlobalMapping { }
function Remove-NetFirewallRule { }
function Get-WindowsFeature { [PSCustomObject] @{ Name = 'Containers'; InstallState = $fakePc.feature } }
function Install-WindowsFeature {
    $fakePc.feature = 'InstallPending'
    [PSCustomObject] @{ Success = $true; RestartNeeded = 'Yes' }
}
[Fenestra.Hns]::Answer = {
    param($Method, $Path, $Body)
    Step-Call "HNS $Method"
    if ($fakePc.hung) { throw 'no answer within 60000 ms' }
    Get-NetworkAnswer $Method $Path $Body
}
$fakeWeb.answer = {
    param($Call, $Headers, $Body)
    if ($Call -like 'POST https://ssm.*') {
        if ("$Body" -like '*logins*') {
            if ($fakePc.refuses) { Send-Refusal 400 '{"__type":"ParameterNotFound"}' }
            return ConvertTo-Data @{ Parameter = @{ Value = $fakePc.logins } }
        }
        $secret = @{ server = 'https://api:6443'; caCertificate = "-----END CERTIFICATE-----`n"; token = 'abcdef'; expires = [DateTime]::UtcNow.AddHours(1).ToString('o') }
        return ConvertTo-Data @{ Parameter = @{ Value = ($secret | ConvertTo-Json -Compress) } }
    }
    if ($Call -like 'POST *') { $fakePc.hooks += $Body }
    if ($fakePc.dead -and $Call -like '*127.0.0.1*') { throw 'connection refused' }
    if ($Call -like 'POST *' -or $Call -like '*127.0.0.1*') { return 'ok' }
    Get-AwsAnswer $Call $Headers
}

# A machine as the cloud makes it, with the payload of a pool that has all that a pool may have.
$payload = Get-Content -Raw -Encoding UTF8 -LiteralPath $env:PAYLOAD | ConvertFrom-Json
function Get-OnDrive {
    param($Path)
    $drive + $Path.Substring(2).Replace('\', '/')
}
foreach ($item in $payload.PSObject.Properties) {
    if ($item.Name -notlike '*.ps1') { Write-Text (Get-OnDrive $item.Name) $item.Value }
}
# Text of a file of the payload whose paths are on this drive.
function Get-DriveText {
    param($Path)
    [Regex]::Replace($payload.$Path, 'C:((?:\\\\[^"\\,]*)+)', { param($match) $drive + $match.Groups[1].Value.Replace('\\', '/') })
}
$fakeData = Get-DriveText 'C:\fenestra\machine.json' | ConvertFrom-Json
$fakeData.services.containerd.pipe = "$drive/pipe"
foreach ($artifact in $fakeData.artifacts) {
    # None where the lock has none: then the publisher is asked.
    $artifact.algorithm = 'sha256'
    if ($artifact.digest) { $artifact.digest = Get-TextDigest "MZ $([IO.Path]::GetFileName($artifact.urls[0]))" }
}
Write-Text "$scripts/machine.json" ($fakeData | ConvertTo-Json -Depth 20)
Write-Text $fakeData.paths.serviceAccountToken 'token'
$fakePem = New-Pem
$places = @{}
foreach ($item in $fakeData.credentials.files) {
    foreach ($match in [Regex]::Matches((Read-Text $item.template), '@(LOGIN_[0-9A-Z]+)@')) { $places[$match.Groups[1].Value] = 'svc:secret' }
}
Set-Values $fakePc @{ keys = @{}; console = @(); hooks = @(); ran = @(); pauses = 0; feature = 'Available'; restart = $false; refuses = $false; hung = $false; logins = $places | ConvertTo-Json -Compress }
Set-Values $fakeServices @{ hns = @{ status = 'Running' }; w32time = @{ status = 'Stopped' }; containerd = @{ status = 'Stopped' } }
$fakeServices.Remove('containerd')
Clear-FakeHns

# A start of Windows: no service runs, and what is volatile is gone.
function Restart-Fake {
    $fakePc.restart = $false
    $fakePc.keys.Remove('SOFTWARE\fenestra-boot')
    if ($fakePc.feature -eq 'InstallPending') { $fakePc.feature = 'Installed' }
    foreach ($name in @($fakeServices.Keys)) { $fakeServices[$name].status = 'Stopped' }
    $hns.networks = @(@{ ID = 'n0'; Name = 'nat'; Type = 'NAT' })
    $hns.switch = $false
    $table.routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1')
}
function Invoke-Boot {
    $fakePc.pauses = 0
    $fakePc.ran = @()
    & "$scripts/run.ps1" | Out-Null
    $LASTEXITCODE
}
function Assert-Ready {
    Assert-Equal (Invoke-Boot) 0
    Assert-True (Test-FakeReady)
}
# For tests of another file.
if ($fakesOnly) { return }

Test 'a first boot asks for one restart, and the second ends Ready with all that the pool wants' {
    # Windows refuses more often than it may restart.
    $fakePc.refused = 3
    foreach ($time in 1, 2, 3) { Assert-Throws { Invoke-Boot } 'ended with 5' }
    Assert-Equal (Invoke-Boot) 3010
    Assert-True $fakePc.restart
    Restart-Fake
    Assert-Ready
    & "$scripts/start-kube-proxy.ps1"
    Assert-True ($fakePc.proxy -like '*--source-vip=10.244.3.2*')
    $environment = $fakePc.keys['SYSTEM\CurrentControlSet\Services\containerd']
    Assert-Equal @(@($environment.Environment)[0], $environment.sddl) @('HTTP_PROXY=http://svc:secret@proxy.example.com:3128', 'D:P(A;CI;KA;;;SY)(A;CI;KA;;;BA)')
    Assert-True ($fakePc.console -contains 'fenestra: node i-0123456789abcdef0 is Ready')
    Assert-Equal @($fakeEvents -like '*failed*') @()
    # The token is forgotten, and the group has heard of it once.
    Assert-False (Test-Path -LiteralPath $fakeData.paths.bootstrapKubeconfig)
    Assert-Equal $fakePc.hooks @("Action=CompleteLifecycleAction&Version=2011-01-01&AutoScalingGroupName=$($fakeData.lifecycle.group)&LifecycleHookName=$($fakeData.lifecycle.launchHook)&InstanceId=i-0123456789abcdef0&LifecycleActionResult=CONTINUE")
}
Test 'a later boot starts these processes' {
    Restart-Fake
    Assert-Ready
    Assert-Equal $fakePc.ran @('credentials', 'network', 'proxy', 'join', 'services')
}
Test 'a machine comes back with the logins it has while their store refuses, and asks for them again' {
    Restart-Fake
    $fakePc.refuses = $true
    $answerBefore = $fakeWeb.answer
    $fakeWeb.answer = {
        param($Call, $Headers, $Body)
        if ($fakePc.pauses -gt 20) { $fakePc.refuses = $false }
        & $answerBefore $Call $Headers $Body
    }
    Assert-Ready
    $fakeWeb.answer = $answerBefore
    Assert-True ($fakePc.ran.Count - 5 -gt 1)
    Assert-False $fakePc.refuses
    Assert-True ($fakeEvents -like 'the logins of the last boot are kept*')[0].Contains('ParameterNotFound')
}
foreach ($odd in 'null', '{}', '[]', '7', '"text"', '', 'less', 'empty') {
    Test "a store of logins that answers with '$odd' changes no file, and fails a machine that has none" {
        $files = @($fakeData.credentials.files.path)
        $before = @($files | ForEach-Object { Read-Text $_ })
        $wanted = $fakePc.logins
        $some = $wanted | ConvertFrom-Json
        $first = @($some.PSObject.Properties)[0].Name
        if ($odd -eq 'less') { $some.PSObject.Properties.Remove($first) } else { $some.$first = '' }
        $fakePc.logins = if ('less', 'empty' -contains $odd) { $some | ConvertTo-Json -Compress } else { $odd }
        . "$scripts/lib.ps1"
        Assert-Equal @(& "$scripts/read-logins.ps1" -Machine $fakeData)[-1] 'later'
        Assert-Equal @($files | ForEach-Object { Read-Text $_ }) $before
        Remove-Item -LiteralPath $files[0]
        Assert-Throws { & "$scripts/read-logins.ps1" -Machine $fakeData } '.'
        Assert-False (Test-Path -LiteralPath $files[0])
        Write-Text $files[0] $before[0]
        $fakePc.logins = $wanted
    }
}
foreach ($case in Read-Table @'
answers[]|how|asked|hooks|error
refused, Ready=False;, NotReady=True;, MemoryPressure=False;Ready=True;||4|1|
Ready=True;|no group|1|0|
Ready=False;|limit|2|0|^waited 1 s in vain for node i-0123456789abcdef0 to be Ready$
Ready=False;|HNS|1|0|^for 0 s there was no answer: 
Ready=False;|kubelet|1|0|^for 0 s there was no answer: 
'@) {
    Test "a node whose API says $($case.answers) ($($case.how)) is waited for, and its group with it" {
        . "$scripts/lib.ps1"
        $data = $fakeData | ConvertTo-Json -Depth 20 | ConvertFrom-Json
        $data.watch.sickRounds = 0
        if ($case.how -eq 'no group') { $data.lifecycle = $null }
        if ($case.how -eq 'limit') { $data.readySeconds = 1 }
        Set-Values $fakePc @{ hooks = @(); asked = 0; hung = $case.how -eq 'HNS'; dead = $case.how -eq 'kubelet' }
        function Invoke-FakeProgram {
            $answer = $case.answers[[Math]::Min($fakePc.asked, $case.answers.Count - 1)]
            $fakePc.asked += 1
            if ($answer -eq 'refused') { throw 'kubectl ended with 1: connection refused' }
            $answer
        }
        $ask = { & "$scripts/wait-ready.ps1" -Machine $data }
        if ($case.error) { Assert-Throws $ask $case.error } else { & $ask }
        Set-Values $fakePc @{ hung = $false; dead = $false }
        Assert-Equal @($fakePc.asked, $fakePc.hooks.Count) @($case.asked, $case.hooks)
    }
}
Test 'HNS that hangs before the node was Ready once is started again' {
    Remove-Item -LiteralPath "$($fakeData.paths.state)/ready.json"
    Remove-Item -LiteralPath $fakeData.network.conflist
    $fakePc.hung = $true
    Assert-Ready
    Assert-True ($fakePc.ran -contains 'network')
}
Test 'on a Ready node a torn record is written again, and no stage is repeated under its pods' {
    foreach ($stage in 'network', 'artifacts') { Write-Text "$($fakeData.paths.state)/$stage.json" "`0`0" }
    Assert-Ready
    Assert-Equal $fakePc.ran @()
}
# What a boot has made, but for logs and what only says where: each may be whole, gone, empty or of NULs. A file of the
# payload and its template, which it is made of, are not both torn.
$made = @(Get-ChildItem -Recurse -File -LiteralPath "$drive/fenestra", "$drive/etc", "$drive/var/lib", "$drive/opt", "$drive/ProgramData" |
    Where-Object { $_.FullName -notmatch '/templates/|/own/|containerd/config\.toml|repairs\.json|secret-patterns|machine\.json|bootstrap-kubelet\.conf$|net-conf|trust|hosts\.toml$' -or $fakeData.credentials.files.path -contains $_.FullName } |
    ForEach-Object { $_.FullName } | Sort-Object)
$random = New-Object Random 44
function Set-Torn {
    param($Path, $How)
    $length = (New-Object IO.FileInfo $Path).Length
    if ($How -eq 0) { Remove-Item -Force -LiteralPath $Path }
    if ($How -eq 1) { [IO.File]::WriteAllText($Path, '') }
    if ($How -eq 2) { [IO.File]::WriteAllBytes($Path, (New-Object byte[] $length)) }
}
for ($round = 0; $round -lt 9; $round += 1) {
    $share = @(0.1, 0.5, 1)[$round % 3]
    $torn = @(foreach ($path in $made) {
        if ($random.NextDouble() -lt $share -and (Test-Path -LiteralPath $path)) { @{ path = $path; how = $random.Next(3) } }
    })
    $twice = @($torn.path | Where-Object { $torn.path -contains "$_.template" })
    $torn = @($torn | Where-Object { $twice -notcontains $_.path })
    Test "boot $round, of $($torn.Count) torn files among $($made.Count)" {
        foreach ($each in $torn) { Set-Torn $each.path $each.how }
        Restart-Fake
        $code = Invoke-Boot
        if ($code -eq 3010) {
            Restart-Fake
            $code = Invoke-Boot
        }
        if ($code -ne 0 -or -not (Test-FakeReady)) { throw "ended with $code; torn: $(($torn | ForEach-Object { "$($_.path.Substring($drive.Length)) $($_.how)" }) -join ', ')" }
    }
}
Complete-Tests
