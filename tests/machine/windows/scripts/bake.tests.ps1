# A machine becomes an image, and others start from it, on the fakes of recovery.tests.ps1: whatever an image says or
# lacks, its machine ends Ready with what its user data wants.
$fakesOnly = $true
. "$PSScriptRoot/recovery.tests.ps1"
. "$scripts/stage.ps1"

Write-Text "$drive/fenestra/bake.json" (Get-DriveText 'C:\fenestra\bake.json')
$fakeData | Add-Member bake (Read-Data "$drive/fenestra/bake.json")
Remove-Item -LiteralPath "$drive/fenestra/bake.json"
$fakeData.ccg = $null
$fakeKeys = @{}
$fakeBake = @{ fetched = @(); pulled = @(); cut = ''; fail = ''; state = ''; called = @() }
function Test-Path {
    param($LiteralPath, $PathType = 'Any')
    if ($LiteralPath -like 'HKLM:*') { return $fakeKeys.ContainsKey($LiteralPath) }
    Microsoft.PowerShell.Management\Test-Path -LiteralPath $LiteralPath -PathType $PathType
}
function New-Item {
    param($ItemType, $Path, [switch] $Force)
    if ($Path -like 'HKLM:*') { $fakeKeys[$Path] = @{} }
    else { Microsoft.PowerShell.Management\New-Item -ItemType $ItemType -Force -Path $Path }
}
function New-ItemProperty {
    param($LiteralPath, $Name, $PropertyType, $Value, [switch] $Force)
    $fakeKeys[$LiteralPath][$Name] = $Value
}
function Get-ItemProperty {
    param($LiteralPath)
    if ($LiteralPath -like '*\Setup\State') { return @{ ImageState = $fakeBake.state } }
    if ($LiteralPath -like '*\Generalize') { return [PSCustomObject] @{ '{1}' = 'C:\x\VMAgentDisabler.dll,Run'; '{2}' = 'other.dll,Run' } }
    if ($fakeKeys[$LiteralPath]) { [PSCustomObject] $fakeKeys[$LiteralPath] }
}
function Set-ItemProperty {
    param($LiteralPath, $Name, $Value)
    $fakeBake.called += "$(Split-Path -Leaf $LiteralPath) $Name $Value"
}
function Remove-ItemProperty {
    param($LiteralPath, $Name)
    $fakeBake.called += "without $Name"
}
function Get-ScheduledTask { }
function Get-LocalUser { [PSCustomObject] @{ SID = 'S-1-5-21-1-500' }; [PSCustomObject] @{ SID = 'S-1-5-21-1-1000' } }
filter Disable-LocalUser { $fakeBake.called += "disabled $($_.SID)" }
# A process of a stage may be cut off: its work is done, and its record is not written.
$fakeStart = ${function:Start-Process}
function Start-Process {
    if ("$args" -like '*curl.exe*') { $fakeBake.fetched += [IO.Path]::GetFileName("$($args[3][-1])".Trim('"')) }
    if ("$args" -like '*containerd.exe*') { Write-Text $fakeData.services.containerd.pipe 'pipe' }
    $process = & $fakeStart @args
    if ($fakeBake.cut -and "$args" -like "*-Name $($fakeBake.cut) *") {
        Remove-Item -Force -LiteralPath "$($fakeData.paths.state)/$($fakeBake.cut).json"
        $fakeBake.cut = ''
        $process.ExitCode = -1073741510
    }
    $process
}
$fakeRun = ${function:Invoke-FakeProgram}
function Invoke-FakeProgram {
    param($Path, $Arguments)
    $name = [IO.Path]::GetFileName($Path)
    if ($fakeBake.fail -eq $name) {
        $fakeBake.fail = ''
        throw "$name was ended"
    }
    if ($name -eq 'crictl.exe' -and $Arguments -contains 'pull') { $fakeBake.pulled += $Arguments[-1] }
    elseif ('net.exe', 'EC2Launch.exe', 'sysprep.exe' -contains $name) { $fakeBake.called += "$name $Arguments" }
    else { & $fakeRun @PSBoundParameters }
}
# A disk without anything but what user data writes.
function Reset-Disk {
    Get-ChildItem -LiteralPath $drive | Remove-Item -Recurse -Force
    $fakeKeys.Clear()
    foreach ($name in @($fakeServices.Keys)) { $fakeServices.Remove($name) }
    Set-Values $fakeServices @{ hns = @{ status = 'Running' }; w32time = @{ status = 'Stopped' }; vmcompute = @{ status = 'Running' } }
    $fakePc.feature = 'Available'
    Clear-FakeHns
    Write-UserData
}
function Write-UserData {
    foreach ($item in $payload.PSObject.Properties) {
        if ($item.Name -notlike '*.ps1' -and $item.Name -notlike '*bake.json') { Write-Text (Get-OnDrive $item.Name) $item.Value }
    }
    Write-Text "$scripts/machine.json" ($fakeData | ConvertTo-Json -Depth 20)
    Write-Text $fakeData.paths.serviceAccountToken 'token'
    Set-Values $fakeBake @{ fetched = @(); pulled = @(); called = @() }
    Restart-Fake
}
function Invoke-BakeScript {
    & "$scripts/bake.ps1" @args | Out-Null
    $LASTEXITCODE
}
# Bakes to the end, as a builder does: after a failure again, with a restart where it is asked for.
function Complete-Bake {
    for ($attempt = 0; $attempt -lt 6; $attempt += 1) {
        $code = Invoke-BakeScript
        if ($code -eq 0) { return }
        if ($code -eq 3010) { Restart-Fake }
    }
    throw "does not end: $code"
}
function Get-Left-Over {
    param($Disk = $drive)
    @(Get-ChildItem -Recurse -File -LiteralPath $Disk | ForEach-Object { $_.FullName.Substring($Disk.Length).Replace('\', '/') } | Where-Object { $_ -notmatch '/pipe$' } | Sort-Object)
}
# A machine from the disk as it is, with its user data.
function Assert-Boot {
    param($Restarts)
    Write-UserData
    $code = Invoke-Boot
    for ($restart = 0; $code -eq 3010; $restart += 1) {
        Restart-Fake
        $code = Invoke-Boot
    }
    Assert-Equal @($code, $restart, (Test-FakeReady)) @(0, $Restarts, $true)
    Assert-Equal $fakePc.feature 'Installed'
    foreach ($artifact in @($fakeData.artifacts | Where-Object { -not $_.unpack })) {
        Assert-Equal (Read-Text "$($artifact.folder)/$($artifact.name)") "MZ $([IO.Path]::GetFileName($artifact.urls[0]))"
    }
}
function Save-Disk { Copy-Item -Recurse -Force -LiteralPath $drive -Destination "$temp/sealed"; $fakeBake.keys = $fakeKeys.Clone() }
function Restore-Disk {
    Reset-Disk
    Get-ChildItem -LiteralPath $drive | Remove-Item -Recurse -Force
    Get-ChildItem -LiteralPath "$temp/sealed" | Copy-Item -Recurse -Force -Destination $drive
    Set-Values $fakeKeys $fakeBake.keys
    $fakePc.feature = 'Installed'
    Write-Text $fakeData.paths.repairs $payload.'C:\fenestra\repairs.json'
}

Test 'a bake asks for one restart, pulls behind it, and is not sealed before' {
    Reset-Disk
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Assert-Equal (Invoke-BakeScript) 3010
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Restart-Fake
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Assert-Equal (Invoke-BakeScript) 0
    Assert-Equal $fakeBake.pulled @('a@sha256:1', 'b@sha256:2')
    Assert-False $fakeServices.ContainsKey('containerd')
}
foreach ($key in 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending', 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired', 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager') {
    Test "no seal while a restart is pending: $(Split-Path -Leaf $key)" {
        $fakeKeys[$key] = @{ PendingFileRenameOperations = @('x') }
        Assert-Equal (Invoke-BakeScript -Seal) 1
        $fakeKeys.Remove($key)
        Assert-False (Test-Path $fakeData.paths.image)
    }
}
Test 'no seal after an extension, nor of a machine that was a node' {
    New-Folder "$drive/Packages/Plugins/Agent"
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Remove-Item -Recurse -LiteralPath "$drive/Packages"
    Write-Text $fakeData.paths.node '{"name":"n"}'
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Remove-Item -LiteralPath $fakeData.paths.node
}
foreach ($lost in 'crictl.exe', 'containerd.exe') {
    Test "no seal where $lost is not as it was verified, until it is again" {
        if ($lost -eq 'crictl.exe') { Remove-Item -LiteralPath "$drive/fenestra/bin/$lost" } else { Write-Text "$drive/fenestra/bin/$lost" "`0`0`0`0" }
        foreach ($time in 1, 2) { Assert-Equal (Invoke-BakeScript -Seal) 1 }
        Assert-False (Test-Path $fakeData.paths.image)
        Complete-Bake
    }
}
Test 'a seal leaves programs, downloads and its record, and nothing of this machine or cluster' {
    Write-Text "$drive/Windows/Panther/unattend.xml" 'x'
    Assert-Equal (Invoke-BakeScript -Seal) 0
    $left = Get-Left-Over
    Assert-Equal @($left -notmatch '^/(fenestra/(bin|downloads|otelcol|credential-providers)/|opt/cni/bin/|fenestra/image\.json$|var/run/)') @()
    $image = Read-Data $fakeData.paths.image
    Assert-Equal @($image.format, $image.os, $image.product, $image.base, $image.stages.name) @(1, $fakeData.os.name, '1.2.3', 'ami-1', @('features', 'artifacts', 'programs'))
    Assert-False ((Read-Text $fakeData.paths.image) -match 'ssm|fenestra/|example\.com|10\.0\.')
    Save-Disk
}
Test 'a machine from it is Ready without a restart or a download, and its settings are made all the same' {
    Assert-Boot 0
    Assert-Equal $fakeBake.fetched @()
    Assert-True ($fakePc.ran -contains 'settings')
    foreach ($name in 'features', 'artifacts', 'programs') {
        Assert-True ((Read-Text "$($fakeData.paths.logs)/stage-$name.log") -match 'the image has done it')
    }
    Assert-Equal (Invoke-BakeScript) 1
}
Test 'an image of the version before brings all but what has changed' {
    Restore-Disk
    $changed = @($fakeData.stages | Where-Object { 'artifacts', 'features' -contains $_.name })
    $kubelet = $fakeData.artifacts | Where-Object { $_.name -eq 'kubelet.exe' }
    $kept = @($kubelet.urls, $kubelet.digest) + $changed.content
    foreach ($stage in $changed) { $stage.content = 'new' }
    $kubelet.urls = @('https://x/kubelet-new.exe')
    $kubelet.digest = Get-TextDigest 'MZ kubelet-new.exe'
    Assert-Boot 0
    Assert-Equal $fakeBake.fetched @('kubelet-new.exe')
    $kubelet.urls, $kubelet.digest, $changed[0].content, $changed[1].content = $kept
}
foreach ($lie in @(
    @{ what = 'a torn record'; restarts = 0; do = { Write-Text $fakeData.paths.image ((Read-Text $fakeData.paths.image).Substring(0, 200)) } }
    @{ what = 'a record of nothing: not even the features'; restarts = 1; do = { $record = Read-Text $fakeData.paths.image; Reset-Disk; Write-Text $fakeData.paths.image $record; $fakeServices.Remove('vmcompute') } }
    @{ what = 'another kubelet than its record says'; restarts = 0; fetched = @('kubelet.exe'); do = { Write-Text "$drive/fenestra/bin/kubelet.exe" 'MZ older' } }
    @{ what = 'another containerd than its record says'; restarts = 0; do = { Write-Text "$drive/fenestra/bin/containerd.exe" 'MZ older' } }
    @{ what = 'no containerd'; restarts = 0; do = { Remove-Item -LiteralPath "$drive/fenestra/bin/containerd.exe" } }
)) {
    Test "an image with $($lie.what) is no worse than none" {
        Restore-Disk
        & $lie.do
        Assert-Boot $lie.restarts
        Assert-Equal (Read-Text "$drive/fenestra/bin/containerd.exe") 'MZ containerd'
        if ($lie.fetched) { Assert-Equal $fakeBake.fetched $lie.fetched }
    }
}
foreach ($cut in 'features', 'settings', 'artifacts', 'programs', 'crictl.exe', 'wevtutil.exe') {
    Test "a bake that is ended in $cut goes on to the same image" {
        Reset-Disk
        if ($cut -like '*.exe') { $fakeBake.fail = $cut } else { $fakeBake.cut = $cut }
        Complete-Bake
        if ($cut -eq 'wevtutil.exe') {
            Assert-Equal (Invoke-BakeScript -Seal) 1
            # The builder unpacks bake.ps1 again.
            Write-UserData
        }
        Assert-Equal (Invoke-BakeScript -Seal) 0
        Assert-Equal @($fakeBake.cut, $fakeBake.fail) @('', '')
        Assert-Equal (Get-Left-Over) (Get-Left-Over "$temp/sealed")
    }
}
Test 'Windows is generalized by its state, not by an exit code' {
    Write-Text $fakeData.bake.generalize.command[0] 'MZ'
    . "$scripts/bake.ps1"
    function Wait-Until {
        param($Condition)
        if (-not (& $Condition)) { throw 'in vain' }
    }
    $fakeBake.state = 'IMAGE_STATE_UNDEPLOYABLE'
    Assert-Throws { Invoke-Sysprep $fakeData } 'has left Windows in IMAGE_STATE_UNDEPLOYABLE'
    $fakeBake.state = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    $fakeBake.called = @()
    Invoke-Sysprep $fakeData
    Assert-Equal $fakeBake.called @('EC2Launch.exe sysprep --clean --block --shutdown=false')
    $fakeBake.called = @()
    $fakeServices.hns.status = 'Running'
    $fakeData.bake.generalize = ConvertTo-Data @{ command = @('sysprep.exe', '/quit'); agents = @('hns'); firstLogon = $true }
    Invoke-Sysprep $fakeData
    Assert-Equal $fakeBake.called @('net.exe accounts /maxpwage:unlimited', 'disabled S-1-5-21-1-500', 'cdrom Start 1', 'without {1}', 'sysprep.exe /quit')
}
Test 'a record of another system, a later format or form, or without the stage says nothing' {
    Restore-Disk
    $text = Read-Text $fakeData.paths.image
    $features = $fakeData.stages | Where-Object { $_.name -eq 'features' }
    Assert-True (Test-Baked $fakeData $features)
    $record = $text | ConvertFrom-Json
    $stages = $record.stages
    $wrongs = foreach ($claims in ($stages + $stages), @($stages -ne $stages[0])) {
        $record.stages = $claims
        $record | ConvertTo-Json -Depth 8
    }
    foreach ($wrong in $wrongs + @($text.Replace($fakeData.os.name, 'windows-2016'), ($text -replace '"format":\s*1', '"format": 2'), '{}', '[]', '{"format":1}', '')) {
        [IO.File]::WriteAllText($fakeData.paths.image, $wrong)
        Assert-False (Test-Baked $fakeData $features)
    }
}
Complete-Tests
