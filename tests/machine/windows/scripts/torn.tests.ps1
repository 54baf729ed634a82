# Every reader of a file over every way in which a file may be torn: state counts as absent, and the next writer makes
# it whole.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/state.ps1"
. "$scripts/run.ps1"
. "$scripts/pod.ps1"
. "$scripts/start-kube-proxy.ps1"

# The IPAM plug-in gives an address that is not the one of before.
$fakePc.programs['host-local'] = { '{"ips":[{"address":"10.244.3.9/24"}]}' }
$fakeFolder = "$temp/files"
$fakeReader = ConvertTo-Data @{
    paths    = @{ state = $fakeFolder; node = "$fakeFolder/node.json"; cniBin = $temp }
    programs = @{ hostLocal = 'host-local' }
    reboots  = @{ allowed = 2 }
    network  = @{ name = 'flannel'; hostLocal = $temp; reservations = "$temp/store"; sourceVip = @{ file = "$fakeFolder/vip.json"; container = 'vip'; interface = 'vip' } }
}
$fakeStage = ConvertTo-Data @{ name = 'features'; hash = 'h'; scope = 'boot'; fills = @() }
New-Folder "$temp/store"
Set-Content -Path "$temp/store/10.244.3.2" -Value @('vip', 'source-vip')

$fakeRead = @{
    'machine.json'  = { try { (Get-Machine "$fakeFolder/machine.json").pool } catch { 'refused' } }
    'node.json'     = { "$((Read-Data $fakeReader.paths.node).name)" }
    'features.json' = { Test-StageDone $fakeReader $fakeStage 'b' }
    reboots         = { Add-Reboot $fakeReader }
    'subnet.env'    = { Get-Subnet "$fakeFolder/subnet.env" }
    'vip.json'      = { Get-SourceVip $fakeReader 's' }
}
$fakeReaders = Read-Table @'
file|good|whole|torn
machine.json|{"pool":"win"}|win|refused
node.json|{"name":"n1"}|n1|
features.json|{"hash":"h","boot":"b"}|True|False
reboots|2|False|True
subnet.env|FLANNEL_SUBNET=10.244.3.1/24|10.244.3.0/24|
vip.json|{"address":"10.244.3.2","subnet":"s"}|10.244.3.2|10.244.3.9
'@
# What lies in its place; a folder and nothing are no text.
$fakeWays = [ordered] @{
    missing = { $null }
    empty   = { '' }
    half    = { $args[0].Substring(0, [int] [Math]::Floor($args[0].Length / 2)) }
    NULs    = { New-Object string ([char] 0), $args[0].Length }
    garbage = { 'garbage {"' }
    folder  = { $null }
}
foreach ($reader in $fakeReaders) {
    foreach ($way in $fakeWays.Keys) {
        Test "$($reader.file): $way" {
            $path = "$fakeFolder/$($reader.file)"
            New-Folder $fakeFolder
            Remove-Item -Recurse -Force -LiteralPath $path -ErrorAction SilentlyContinue
            $text = & $fakeWays[$way] "$($reader.good)"
            if ($null -ne $text) { [IO.File]::WriteAllText($path, $text) }
            if ($way -eq 'folder') { New-Folder "$path/inside" }
            Assert-Equal "$(& $fakeRead[$reader.file])" "$($reader.torn)"
            Write-Text $path $reader.good
            Assert-Equal "$(& $fakeRead[$reader.file])" "$($reader.whole)"
        }
    }
}
Test 'a reader of a file that the loader writes again keeps the old one' {
    $source = (Read-Text "$components/machine/windows/userData.ts") -replace '(?s)^.*(?="foreach\(\$f in)|"if\(\$l.*$', ''
    $loop = @([Regex]::Matches($source, '(?m)^\s*"(.*)",$') | ForEach-Object { $_.Groups[1].Value }) -join "`n"
    $path = "$fakeFolder/loaded/config.toml"
    $a = @{ files = [PSCustomObject] @{ $path = 'old' } }
    & ([scriptblock]::Create($loop))
    $reader = [IO.File]::Open($path, 'Open', 'Read', 'ReadWrite, Delete')
    $a = @{ files = [PSCustomObject] @{ $path = 'new' } }
    & ([scriptblock]::Create($loop))
    $text = (New-Object IO.StreamReader $reader).ReadToEnd()
    $reader.Close()
    Assert-Equal @($text, (Read-Text $path)) @('old', 'new')
}
Complete-Tests
