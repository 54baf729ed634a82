# Files that are torn: to each of their readers they are not there, and the next writer makes them whole.
. "$PSScriptRoot/harness.ps1"
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/run.ps1"
. "$scripts/pod.ps1"

$path = "$temp/state/x"
$ways = @{ missing = $null; empty = ''; half = '{"pool":'; odd = '{7}'; NULs = "{`"pool`":`"wi`0`"}"; garbage = '7'; folder = $null }
foreach ($way in $ways.Keys) {
    Test "a file with data in whose place is: $way" {
        Remove-Item -Recurse -Force -LiteralPath "$temp/state" -ErrorAction SilentlyContinue
        New-Folder "$temp/state"
        if ($null -ne $ways[$way]) { [IO.File]::WriteAllText($path, $ways[$way]) }
        if ($way -eq 'folder') { New-Folder "$path/inside" }
        Assert-Equal (Read-Data $path) $null
        Assert-Throws { Get-Machine $path } 'cannot be read$'
        Write-Text $path '{"pool":"win"}'
        Assert-Equal (Get-Machine $path).pool 'win'
    }
}
Test 'a count of restarts, and a range of addresses' {
    $machine = ConvertTo-Data @{ paths = @{ state = "$temp/state" }; reboots = @{ allowed = 2 } }
    foreach ($torn in 'garbage', '', "2`0", '2') {
        Write-Text "$temp/state/reboots" $torn
        Assert-Equal (Add-Reboot $machine) ($torn.Length -ne 1)
    }
    Write-Text $path 'FLANNEL_SUBNET=10.244'
    Assert-Equal (Get-Subnet $path) ''
}
Test 'a reader of a file that the loader writes again keeps the old one' {
    $source = (Read-Text "$components/machine/windows/userData.ts") -replace '(?s)^.*(?="foreach\(\$f in)|"if\(\$l.*$', ''
    $loop = @([Regex]::Matches($source, '(?m)^\s*"(.*)",$') | ForEach-Object { $_.Groups[1].Value }) -join "`n"
    $path = "$temp/loaded/config.toml"
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
