# A pool's machine, its data and all its stages, on the fakes: for the tests of a whole boot.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/files.ps1"

$fakeData = New-Data 'services.containerd.pipe FOLDER/pipe'
$drive = $fakeData.folder
function Test-Good {
    param($File, $Pattern = '^MZ')
    (Read-Text "$drive$File") -match $Pattern
}
# Programs come as their names. An archive has the programs that these fakes run.
$fakeArchives = @{ containerd = 'bin/containerd.exe'; crictl = 'crictl.exe'; 'cni-plugins' = 'host-local.exe' }
$fakeStarts = @{
    'curl.exe'       = {
        [IO.File]::WriteAllText("$(@($args[0])[-2])".Trim('"'), "MZ $([IO.Path]::GetFileName("$(@($args[0])[-1])".Trim('"')))")
        0
    }
    'powershell.exe' = {
        if ("$($args[0])" -notlike '*\stage.ps1" -Name *') { return 0 }
        $fakeStage = "$($args[0])".Split(' ')[-1]
        $fakePc.ran += $fakeStage
        & "$scripts/stage.ps1" -Name $fakeStage | Out-Null
        if ($fakePc.cut -ne $fakeStage) { return $LASTEXITCODE }
        # Its process was cut off: its work is done, and its record is not written.
        $fakePc.cut = ''
        Remove-Item -Force "$($fakeData.paths.state)/$fakeStage.json"
        -1073741510
    }
    'flanneld.exe'   = {
        if (-not (Test-Good '/fenestra/bin/flanneld.exe')) { throw 'flanneld.exe: 193' }
        $fakePc.processes += 'flanneld'
        Invoke-Flanneld $fakeData.network.name
        Write-Text $fakeData.network.subnetFile 'FLANNEL_SUBNET=10.244.3.1/24'
        0
    }
}
$fakePrograms = @{
    'tar.exe'        = {
        $fakeWords = $args[0]
        $fakeArchive = @($fakeData.artifacts | Where-Object { "$($fakeData.paths.downloads)/$($_.file)" -eq $fakeWords[1] })[0]
        if (-not $fakeArchives[$fakeArchive.name]) { return }
        if ($fakeWords[0] -eq '-tzf') { return $fakeArchives[$fakeArchive.name] }
        New-Folder (Split-Path -Parent "$($fakeArchive.folder)/$($fakeArchives[$fakeArchive.name])")
        [IO.File]::WriteAllText("$($fakeArchive.folder)/$($fakeArchives[$fakeArchive.name])", "MZ $($fakeArchive.name)")
    }
    'containerd.exe' = {
        $fakePc.services.Remove('containerd')
        if ($args[0][0] -eq '--register-service') { $fakePc.services.containerd = @{ status = 'Stopped' } }
    }
    'curl.exe'       = {
        if ($fakePc.alone) { throw 'nobody answers' }
        Get-TextDigest "MZ $([IO.Path]::GetFileName($args[0][-1]) -replace '\.sha\d+$')"
    }
    'sc.exe'         = { if ($args[0][2] -eq 'delete') { $fakePc.services[$args[0][1]].triggers = $false } }
    'shutdown.exe'   = {
        $fakePc.refused -= 1
        if ($fakePc.refused -ge 0) { throw 'shutdown.exe ended with 5' }
        $fakePc.restart = $true
    }
    'host-local.exe' = $fakeHostLocal
    'kubectl.exe'    = {
        if ($args[0] -contains 'jsonpath={.spec.podCIDR}') { return '10.244.3.0/24' }
        if ("$($args[0])" -notlike '* get node *') { return }
        if (-not (Test-FakeReady)) { throw 'kubectl ended with 1' }
        'Ready=True;'
    }
}
# A kubelet registers its node with what it finds, and the node is Ready when the agents have made its network.
function Test-FakeReady {
    $joins = (Test-Good '/etc/kubernetes/kubelet.conf' 'server:') -and (Test-Good '/var/lib/kubelet/pki/kubelet-client-current.pem' 'PRIVATE KEY')
    $whole = (Test-Good '/etc/kubernetes/kubelet-config.yaml' 'aws:///eu-central-1a/i-') -and (Test-Good '/etc/kubernetes/pki/ca.crt' 'END CERTIFICATE') -and (Test-Good '/fenestra/containerd/config.toml' 'conf_dir') -and (Test-Good '/fenestra/bin/kubelet.exe') -and (Test-Good '/fenestra/bin/kube-log-runner.exe')
    if (-not $whole -or $fakePc.services.kubelet.status -ne 'Running' -or $fakePc.services.containerd.status -ne 'Running') { return $false }
    if (-not $joins) {
        if (-not (Test-Good '/etc/kubernetes/bootstrap-kubelet.conf' 'abcdef')) { return $false }
        Write-Text $fakeData.paths.kubeconfig 'server: https://api:6443'
        Write-Text "$($fakeData.paths.certificates)/kubelet-client-current.pem" $fakePem
    }
    # One that runs already, whose shim outlives containerd, makes nothing again (flannel-io/flannel, pkg/backend/vxlan).
    if (-not (Test-Path $fakeData.network.conflist) -and $fakePc.processes -notcontains 'flanneld') { try { & "$scripts/start-flanneld.ps1" | Out-Null } catch { return $false } }
    (Read-Text $fakeData.network.conflist) -match '"flannel' -and -not $fakePc.hung
}
$fakeAnswer = {
    param($Call, $Headers, $Body)
    if ($Call -like 'POST https://ssm.*') {
        if ("$Body" -like '*logins*') {
            if ($fakePc.denied) { throw 'refusal 400 {"__type":"ParameterNotFound"}' }
            return ConvertTo-Data @{ Parameter = @{ Value = $fakePc.logins } }
        }
        return ConvertTo-Data @{ Parameter = @{ Value = (@{ server = 'https://api:6443'; caCertificate = "-----END CERTIFICATE-----`n"; token = 'abcdef'; expires = [DateTime]::UtcNow.AddHours(1).ToString('o') } | ConvertTo-Json -Compress) } }
    }
    if ($Call -like 'POST *') { $fakePc.hooks += $Body }
    if ($fakePc.dead -and $Call -like '*127.0.0.1*') { throw 'connection refused' }
    if ($Call -like 'POST *' -or $Call -like '*127.0.0.1*') { return 'ok' }
    Get-AwsAnswer $Call $Headers
}

# A machine as the cloud makes it, with the payload of a pool that has all that a pool may have.
function Get-OnDrive {
    param($Path)
    $drive + $Path.Substring(2).Replace('\', '/')
}
foreach ($item in $payload.PSObject.Properties) {
    if ($item.Name -notlike '*.ps1') { Write-Text (Get-OnDrive $item.Name) $item.Value }
}
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
Reset-Pc @{
    starts = $fakeStarts; programs = $fakePrograms; answer = $fakeAnswer; hooks = @(); ran = @(); restart = $false; denied = $false; hung = $false; logins = $places | ConvertTo-Json -Compress
    services = @{ hns = @{ status = 'Running' }; w32time = @{ status = 'Stopped'; triggers = $true } }; features = @{ Containers = 'Available' }; tasks = @{ 'fenestra-run' = @{ State = 'Running' } }
    onStart = {
        if ($args[0] -eq 'hns') { $fakePc.hung = $false }
        if ('kubelet', 'containerd' -contains $args[0] -and -not (Test-Good "/fenestra/bin/$($args[0]).exe")) { throw "cannot start $($args[0]): 193" }
        if ($args[0] -eq 'containerd') { Write-Text $fakeData.services.containerd.pipe 'pipe' }
    }
    onHns   = {
        if ($fakePc.hung) { throw 'no answer within 60000 ms' }
        Get-NetworkAnswer @args
    }
    # Pauses between attempts are longer than any other.
    onSleep = {
        if ($args[0] -ge 10) { $fakePc.pauses += 1 }
        if ($fakePc.pauses -gt 60) { throw "it does not end: $(@($fakePc.told)[-3..-1] -join '; ')" }
    }
    guards  = { if ($args[0].StartsWith($drive) -and -not (Test-Good $args[0].Substring($drive.Length))) { throw "program $($args[0]) does not start: 193" } }
}

# A start of Windows: what is volatile is gone, and automatic services run, but for one with triggers.
function Restart-Fake {
    Set-Values $fakePc @{ restart = $false; networks = @(@{ ID = 'n0'; Name = 'nat'; Type = 'NAT' }); switch = $false; routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1'); processes = @() }
    if ($fakePc.volatile -eq 'Volatile') { $fakePc.registry.Remove('SOFTWARE\fenestra-boot') }
    foreach ($name in @($fakePc.features.Keys)) { if ($fakePc.features[$name] -eq 'InstallPending') { $fakePc.features[$name] = 'Installed' } }
    foreach ($service in $fakePc.services.Values) { $service.status = if ($service.start -eq 'Automatic' -and -not $service.triggers) { 'Running' } else { 'Stopped' } }
}
function Invoke-Boot {
    Set-Values $fakePc @{ pauses = 0; ran = @(); log = @(); calls = @(); slept = @() }
    & "$scripts/run.ps1" | Out-Null
    $LASTEXITCODE
}
function Assert-Ready {
    Assert-Equal (Invoke-Boot) 0
    Assert-True (Test-FakeReady)
}
