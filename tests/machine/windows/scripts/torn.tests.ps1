# Files that are torn: to each of their readers they are not there, and the next writer makes them whole.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/run.ps1"
. "$scripts/pod.ps1"

$path = "$temp/state/x"
$ways = @{ missing = $null; empty = ''; half = '{"pool":'; odd = '{7}'; NULs = "{`"pool`":`"wi`0`"}"; garbage = '7'; folder = $null }
foreach ($way in $ways.Keys) {
    Test "a file with data in whose place is: $way" {
        Remove-Item -Recurse -Force "$temp/state" -ErrorAction SilentlyContinue
        New-Folder "$temp/state"
        if ($null -ne $ways[$way]) { [IO.File]::WriteAllText($path, $ways[$way]) }
        if ($way -eq 'folder') { New-Folder "$path/inside" }
        Assert-Equal (Read-Data $path) $null
        Assert-Throws { Get-Machine $path } 'cannot be read$'
        Write-Text $path '{"pool":"win"}'
        Assert-Equal (Get-Machine $path).pool 'win'
    }
}
foreach ($seconds in 0.3, 60) {
    Test "a file that a scanner holds for $seconds s is waited for, but not for long" {
        Write-Text $path '{"pool":"win"}'
        $holder = [IO.File]::Open($path, 'Open', 'Read', 'None')
        $other = [PowerShell]::Create().AddScript({ [Threading.Thread]::Sleep(1000 * $args[1]); $args[0].Close() }).AddArgument($holder).AddArgument([Math]::Min(2, $seconds))
        $call = $other.BeginInvoke()
        Assert-Equal (Read-Data $path).pool $(if ($seconds -lt 1) { 'win' })
        $other.EndInvoke($call)
    }
}
Test 'what is not there takes no file''s place' {
    Write-Text $path 'old'
    Assert-Throws { Move-File "$path.none" $path } '.'
    Assert-Equal (Read-Text $path) 'old'
}
Test 'a count of restarts, and a range of addresses' {
    $machine = New-Data
    function Get-BootId { 'boot-3' }
    foreach ($torn in 'garbage', '', "boot-1`0", "boot-1`nboot-2") {
        Write-Text "$($machine.paths.state)/reboots" $torn
        Assert-Equal (Add-Reboot $machine) ($torn -notlike '*-2')
    }
    Write-Text $path 'FLANNEL_SUBNET=10.244'
    Assert-Equal (Get-Subnet $path) ''
}
Test 'the loader leaves readers the old file, runs the entry, ends with its code' {
    if (-not $onWindows) {
        New-Program 'any' ''
        & ln -sf $shell "$temp/bin/powershell.exe"
    }
    Write-Text $env:LOADED 'old'
    $reader = [IO.File]::Open($env:LOADED, 'Open', 'Read', 'ReadWrite, Delete')
    & $shell -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $env:LOADER
    Assert-Equal $LASTEXITCODE 7
    Assert-Equal (New-Object IO.StreamReader $reader).ReadToEnd() 'old'
    $reader.Close()
}
Test 'the loader without room for a new file keeps the old one, and fails; the first it writes all the same' {
    New-Folder "$env:LOADED.new"
    foreach ($there in $true, $false) {
        if ($there) { [IO.File]::WriteAllText($env:LOADED, 'old') } else { Remove-Item $env:LOADED }
        & $shell -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $env:LOADER 2> $null
        Assert-Equal @($LASTEXITCODE, (Read-Text $env:LOADED)) $(if ($there) { @(1, 'old') } else { @(7, 'exit 7') })
    }
    Remove-Item "$env:LOADED.new"
}
Complete-Tests
