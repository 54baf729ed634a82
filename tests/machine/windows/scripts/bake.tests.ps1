# A machine becomes an image, and others start from it: whatever an image says or lacks, its machine ends Ready with what
# its user data wants.
. "$PSScriptRoot/machine.ps1"
. "$scripts/stage.ps1"

Write-Text "$drive/fenestra/bake.json" (Get-DriveText $drive 'C:\fenestra\bake.json')
$fakeData | Add-Member bake (Read-Data "$drive/fenestra/bake.json")
Remove-Item "$drive/fenestra/bake.json"
$fakeData.ccg = $null
$windows = 'SOFTWARE\Microsoft\Windows\CurrentVersion'
function Set-ItemProperty {
    param($LiteralPath, $Name, $Value)
    Add-Deed "$(Split-Path -Leaf $LiteralPath) $Name $Value"
}
function Remove-ItemProperty {
    param($LiteralPath, $Name)
    Add-Deed "without $Name"
}
function Get-LocalUser { [PSCustomObject] @{ SID = 'S-1-5-21-1-500' }; [PSCustomObject] @{ SID = 'S-1-5-21-1-1000' } }
filter Disable-LocalUser { Add-Deed "disabled $($_.SID)" }
$fakePc.starts = @{} + $fakeStarts + @{ 'containerd.exe' = { Write-Text $fakeData.services.containerd.pipe 'pipe'; 0 } }
$fakePc.starts['curl.exe'] = {
    $fakePc.fetched += [IO.Path]::GetFileName("$(@($args[0])[-1])".Trim('"'))
    & $fakeStarts['curl.exe'] @args
}
# A disk without anything but what user data writes.
function Reset-Disk {
    Get-ChildItem $drive | Remove-Item -Recurse -Force
    Set-Values $fakePc @{ registry = @{}; features = @{ Containers = 'Available' }; services = @{ hns = @{ status = 'Running' }; w32time = @{ status = 'Stopped' }; vmcompute = @{ status = 'Running' } } }
    Write-UserData
}
function Write-UserData {
    foreach ($item in $payload.PSObject.Properties) {
        if ($item.Name -notlike '*.ps1' -and $item.Name -notlike '*bake.json') { Write-Text (Get-OnDrive $item.Name) $item.Value }
    }
    Write-Text "$scripts/machine.json" ($fakeData | ConvertTo-Json -Depth 20)
    Write-Text $fakeData.paths.serviceAccountToken 'token'
    Set-Values $fakePc @{ fetched = @(); deeds = @() }
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
    @(Get-ChildItem -Recurse -File $Disk | ForEach-Object { $_.FullName.Substring($Disk.Length).Replace('\', '/') } | Where-Object { $_ -notmatch '/pipe$' } | Sort-Object)
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
    Assert-Equal $fakePc.features.Containers 'Installed'
    foreach ($artifact in @($fakeData.artifacts | Where-Object { -not $_.unpack })) {
        Assert-Equal (Read-Text "$($artifact.folder)/$($artifact.name)") "MZ $([IO.Path]::GetFileName($artifact.urls[0]))"
    }
}
function Save-Disk { Copy-Item -Recurse -Force $drive -Destination "$temp/sealed"; $fakePc.saved = $fakePc.registry.Clone() }
function Restore-Disk {
    Reset-Disk
    Get-ChildItem $drive | Remove-Item -Recurse -Force
    Get-ChildItem "$temp/sealed" | Copy-Item -Recurse -Force -Destination $drive
    Set-Values $fakePc @{ registry = $fakePc.saved.Clone(); features = @{ Containers = 'Installed' } }
    Write-Text $fakeData.paths.repairs $payload.'C:\fenestra\repairs.json'
}

Test 'a bake asks for one restart, pulls, and is not sealed before' {
    Reset-Disk
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Assert-Equal (Invoke-BakeScript) 3010
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Restart-Fake
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Assert-Equal (Invoke-BakeScript) 0
    Assert-Equal @($fakePc.deeds -like '* pull *' -replace '^.* ') @('a@sha256:1', 'b@sha256:2')
    Assert-False $fakePc.services.ContainsKey('containerd')
}
foreach ($key in "$windows\Component Based Servicing\RebootPending", "$windows\WindowsUpdate\Auto Update\RebootRequired", 'SYSTEM\CurrentControlSet\Control\Session Manager') {
    Test "no seal while a restart is pending: $($key -replace '^.*\\')" {
        $fakePc.registry[$key] = @{ PendingFileRenameOperations = @('x') }
        Assert-Equal (Invoke-BakeScript -Seal) 1
        $fakePc.registry.Remove($key)
        Assert-False (Test-Path $fakeData.paths.image)
    }
}
Test 'no seal after an extension, nor of a former node' {
    New-Folder "$drive/Packages/Plugins/Agent"
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Remove-Item -Recurse "$drive/Packages"
    Write-Text $fakeData.paths.node '{"name":"n"}'
    Assert-Equal (Invoke-BakeScript -Seal) 1
    Remove-Item $fakeData.paths.node
}
foreach ($lost in 'crictl.exe', 'containerd.exe') {
    Test "no seal where $lost is not as verified, until it is" {
        if ($lost -eq 'crictl.exe') { Remove-Item "$drive/fenestra/bin/$lost" } else { Write-Text "$drive/fenestra/bin/$lost" "`0`0`0`0" }
        foreach ($time in 1, 2) { Assert-Equal (Invoke-BakeScript -Seal) 1 }
        Assert-False (Test-Path $fakeData.paths.image)
        Complete-Bake
    }
}
Test 'a seal leaves programs, downloads and its record alone' {
    Write-Text "$drive/Windows/Panther/unattend.xml" 'x'
    Assert-Equal (Invoke-BakeScript -Seal) 0
    Assert-Equal @((Get-Left-Over) -notmatch '^/(fenestra/(bin|downloads|otelcol|credential-providers)/|opt/cni/bin/|fenestra/image\.json$|var/run/)') @()
    $image = Read-Data $fakeData.paths.image
    Assert-Equal @($image.format, $image.os, $image.product, $image.base, $image.stages.name) @(1, $fakeData.os.name, '1.2.3', 'ami-1', @('features', 'artifacts', 'programs'))
    Assert-False ((Read-Text $fakeData.paths.image) -match 'ssm|fenestra/|example\.com|10\.0\.')
    Save-Disk
}
Test 'a machine from it is Ready without a restart or download, with all settings' {
    Assert-Boot 0
    Assert-Equal $fakePc.fetched @()
    Assert-True ($fakePc.ran -contains 'settings')
    foreach ($name in 'features', 'artifacts', 'programs') {
        Assert-True (@($fakePc.log -like "stage ${name}: the image has done it*").Count -eq 1)
    }
    Assert-Equal (Invoke-BakeScript) 1
}
Test 'an older image brings all but what has changed' {
    Restore-Disk
    $changed = @($fakeData.stages | Where-Object { 'artifacts', 'features' -contains $_.name })
    $kubelet = $fakeData.artifacts | Where-Object { $_.name -eq 'kubelet.exe' }
    $kept = @($kubelet.urls, $kubelet.digest) + $changed.content
    foreach ($stage in $changed) { $stage.content = 'new' }
    $kubelet.urls = @('https://x/kubelet-new.exe')
    $kubelet.digest = Get-TextDigest 'MZ kubelet-new.exe'
    Assert-Boot 0
    Assert-Equal $fakePc.fetched @('kubelet-new.exe')
    $kubelet.urls, $kubelet.digest, $changed[0].content, $changed[1].content = $kept
}
foreach ($lie in @(
    @{ what = 'a torn record'; restarts = 0; do = { Write-Text $fakeData.paths.image ((Read-Text $fakeData.paths.image).Substring(0, 200)) } }
    @{ what = 'a record of nothing: not even the features'; restarts = 1; do = { $record = Read-Text $fakeData.paths.image; Reset-Disk; Write-Text $fakeData.paths.image $record; $fakePc.services.Remove('vmcompute') } }
    @{ what = 'another kubelet than its record says'; restarts = 0; fetched = @('kubelet.exe'); do = { Write-Text "$drive/fenestra/bin/kubelet.exe" 'MZ older' } }
    @{ what = 'another containerd than its record says'; restarts = 0; do = { Write-Text "$drive/fenestra/bin/containerd.exe" 'MZ older' } }
    @{ what = 'no containerd'; restarts = 0; do = { Remove-Item "$drive/fenestra/bin/containerd.exe" } }
)) {
    Test "an image with $($lie.what) is no worse than none" {
        Restore-Disk
        & $lie.do
        Assert-Boot $lie.restarts
        Assert-Equal (Read-Text "$drive/fenestra/bin/containerd.exe") 'MZ containerd'
        if ($lie.fetched) { Assert-Equal $fakePc.fetched $lie.fetched }
    }
}
foreach ($cut in 'features', 'settings', 'artifacts', 'programs', 'crictl.exe', 'wevtutil.exe') {
    Test "a bake that is ended in $cut goes on to the same image" {
        Reset-Disk
        if ($cut -like '*.exe') { Set-Values $fakePc @{ call = "$cut *"; way = 'was ended'; times = 1 } } else { Set-Values $fakePc @{ cut = $cut; times = 1 } }
        Complete-Bake
        if ($cut -eq 'wevtutil.exe') {
            Assert-Equal (Invoke-BakeScript -Seal) 1
            # The builder unpacks bake.ps1 again.
            Write-UserData
        }
        Assert-Equal (Invoke-BakeScript -Seal) 0
        Assert-Equal @($fakePc.cut, $fakePc.times) @('', [int] ($cut -notlike '*.exe'))
        Assert-Equal (Get-Left-Over) (Get-Left-Over "$temp/sealed")
    }
}
Test 'Windows is generalized by its state, not by an exit code' {
    Write-Text $fakeData.bake.generalize.command[0] 'MZ'
    . "$scripts/bake.ps1"
    $fakePc.registry["$windows\Setup\State"] = @{ ImageState = 'IMAGE_STATE_UNDEPLOYABLE' }
    Assert-Throws { Invoke-Sysprep $fakeData } 'has left Windows in IMAGE_STATE_UNDEPLOYABLE'
    $fakePc.registry["$windows\Setup\State"].ImageState = 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE'
    $fakePc.registry["$windows\Setup\SysPrepExternal\Generalize"] = @{ '{1}' = 'C:\x\VMAgentDisabler.dll,Run'; '{2}' = 'other.dll,Run' }
    $fakePc.deeds = @()
    Invoke-Sysprep $fakeData
    Assert-Equal $fakePc.deeds @('EC2Launch.exe sysprep --clean --block --shutdown=false')
    $fakePc.deeds = @()
    $fakePc.services.hns.status = 'Running'
    $fakeData.bake.generalize = ConvertTo-Data @{ command = @('sysprep.exe', '/quit'); agents = @('hns'); firstLogon = $true }
    Invoke-Sysprep $fakeData
    Assert-Equal $fakePc.deeds @('net.exe accounts /maxpwage:unlimited', 'disabled S-1-5-21-1-500', 'cdrom Start 1', 'without {1}', 'sysprep.exe /quit')
}
Test 'a record of another system or form, or without the stage, says nothing' {
    Restore-Disk
    $text = Read-Text $fakeData.paths.image
    $features = $fakeData.stages | Where-Object { $_.name -eq 'features' }
    Assert-True (Test-Baked $fakeData $features)
    foreach ($lost in { $fakePc.services.Remove('vmcompute') }, { $fakePc.registry.Clear() }, { $fakePc.services.wuauserv = @{ start = 'Manual' } }) {
        & $lost
        Assert-False (Test-Baked $fakeData $features)
        Restore-Disk
        Assert-True (Test-Baked $fakeData $features)
    }
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
