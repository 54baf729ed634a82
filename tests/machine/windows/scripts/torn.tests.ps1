# Every reader of a file over every way in which a file may be torn: state counts as absent, and the next writer makes
# it whole.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/state.ps1"
. "$scripts/run.ps1"
. "$scripts/pod.ps1"
. "$scripts/start-kube-proxy.ps1"
. "$PSScriptRoot/log-fake.ps1"

# The IPAM plug-in gives an address that is not the one of before.
function Invoke-Program { '{"ips":[{"address":"10.244.3.9/24"}]}' }
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

$fakeReaders = @(
    @{ file = 'machine.json'; good = '{"pool":"win"}'; read = { try { (Get-Machine "$fakeFolder/machine.json").pool } catch { 'refused' } }; whole = 'win'; torn = 'refused' }
    @{ file = 'node.json'; good = '{"name":"n1"}'; read = { "$((Read-Data $fakeReader.paths.node).name)" }; whole = 'n1'; torn = '' }
    @{ file = 'features.json'; good = '{"hash":"h","boot":"b"}'; read = { Test-StageDone $fakeReader $fakeStage 'b' }; whole = $true; torn = $false }
    @{ file = 'reboots'; good = '2'; read = { Add-Reboot $fakeReader }; whole = $false; torn = $true }
    @{ file = 'subnet.env'; good = 'FLANNEL_SUBNET=10.244.3.1/24'; read = { Get-Subnet "$fakeFolder/subnet.env" }; whole = '10.244.3.0/24'; torn = '' }
    @{ file = 'vip.json'; good = '{"address":"10.244.3.2","subnet":"s"}'; read = { Get-SourceVip $fakeReader 's' }; whole = '10.244.3.2'; torn = '10.244.3.9' }
)
$fakeWays = [ordered] @{
    missing  = { $null }
    empty    = { param([string] $File, [string] $Good); [IO.File]::WriteAllText($File, '') }
    half     = { param([string] $File, [string] $Good); [IO.File]::WriteAllText($File, $Good.Substring(0, [int] [Math]::Floor($Good.Length / 2))) }
    NULs     = { param([string] $File, [string] $Good); [IO.File]::WriteAllText($File, (New-Object string ([char] 0), $Good.Length)) }
    garbage  = { param([string] $File, [string] $Good); [IO.File]::WriteAllText($File, 'garbage {"') }
    'folder' = { param([string] $File, [string] $Good); New-Folder "$File/inside" }
}
foreach ($reader in $fakeReaders) {
    foreach ($way in $fakeWays.Keys) {
        Test "$($reader.file): $way" {
            $path = "$fakeFolder/$($reader.file)"
            New-Folder $fakeFolder
            Remove-Item -Recurse -Force -LiteralPath $path -ErrorAction SilentlyContinue
            & $fakeWays[$way] $path $reader.good
            Assert-Equal (& $reader.read) $reader.torn
            Write-Text $path $reader.good
            Assert-Equal (& $reader.read) $reader.whole
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
