# What every script shares: programs and their two streams, access rights, the lock.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

. "$PSScriptRoot/log-fake.ps1"
# The shell that runs this test is a program that every system has.
$shell = (Get-Process -Id $PID).Path
function Get-Call {
    param(
        [string] $Command
    )
    , @('-NoProfile', '-NonInteractive', '-Command', $Command)
}

Test 'a program that is missing is told by its path, in our words' {
    $path = Join-Path $temp 'missing.exe'
    Assert-Throws { Invoke-Program $path @('x') } "^program $([Regex]::Escape($path)) is missing$"
}
Test 'a program that does not start is told by its path, and the exit code of the one before does not count' {
    $path = Join-Path $temp 'broken.exe'
    Set-Content -NoNewline -Path $path -Value 'MZ but no program'
    if (Get-Command -Name chmod -ErrorAction SilentlyContinue) {
        & chmod 0755 $path
    }
    Invoke-Program $shell (Get-Call 'exit 0') | Out-Null
    Assert-Throws { Invoke-Program $path @() } "$([Regex]::Escape($path)) (does not start|ended with [1-9])"
}
Test 'what a program writes to stderr is not among its answer' {
    $call = Get-Call '[Console]::Error.WriteLine(''Warning: deprecated''); [Console]::Out.WriteLine(''{}'')'
    Assert-Equal @(Invoke-Program $shell $call) @('{}')
}
Test 'a program that fails is told with its code and both streams' {
    $call = Get-Call '[Console]::Error.WriteLine(''no such thing''); [Console]::Out.WriteLine(''at work''); exit 7'
    Assert-Throws { Invoke-Program $shell $call } 'ended with 7: .*no such thing'
    Assert-Throws { Invoke-Program $shell $call } 'ended with 7: .*at work'
}
Test 'a code that is accepted is no failure' {
    Assert-Equal @(Invoke-Program $shell (Get-Call '[Console]::Out.WriteLine(''a''); exit 3') -Accept 0, 3) @('a')
}

$rights = @{ calls = @(); code = 0 }
Test 'a folder is for the system and administrators only, by their identifiers, which no language of Windows changes' {
    function icacls.exe {
        $rights.calls += , @($args)
        $global:LASTEXITCODE = $rights.code
    }
    $path = Join-Path $temp 'protected/inner'
    Protect-Folder $path
    Protect-Folder $path
    Assert-Equal (Test-Path -LiteralPath $path) $true
    $expected = @($path, '/inheritance:r', '/grant:r', '*S-1-5-18:(OI)(CI)F', '*S-1-5-32-544:(OI)(CI)F')
    Assert-Equal $rights.calls @($expected, $expected)
}
Test 'access rights that cannot be set are an error with the folder' {
    function icacls.exe {
        'Access is denied.'
        $global:LASTEXITCODE = 5
    }
    $path = Join-Path $temp 'refused'
    Assert-Throws { Protect-Folder $path } "^access rights of $([Regex]::Escape($path)) not set: icacls.exe ended with 5: Access is denied"
}

Test 'the lock is free again after the block, also after one that failed' {
    $done = @{ count = 0 }
    $lock = "test-$([Guid]::NewGuid())"
    Assert-Equal (Invoke-Alone $lock 0 { $done.count += 1 }) $true
    Assert-Throws { Invoke-Alone $lock 0 { throw 'in the block' } } '^in the block$'
    Assert-Equal (Invoke-Alone $lock 0 { $done.count += 1 }) $true
    Assert-Equal $done.count 2
}
Test 'while another process holds the lock nothing is done, and false comes back' {
    $done = @{ count = 0 }
    $lock = "test-$([Guid]::NewGuid())"
    $started = Join-Path $temp 'held'
    $hold = "`$m = New-Object Threading.Mutex `$true, 'Global\fenestra-$lock'; Set-Content -Path '$started' -Value 1; Start-Sleep -Seconds 60"
    $other = Start-Process -FilePath $shell -ArgumentList @('-NoProfile', '-NonInteractive', '-EncodedCommand', [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($hold))) -PassThru
    try {
        Wait-Until { Test-Path -LiteralPath $started } 60 'the other process' 1 | Out-Null
        Assert-Equal (Invoke-Alone $lock 0 { $done.count += 1 }) $false
        Assert-Equal $done.count 0
    }
    finally {
        $other.Kill()
        $other.WaitForExit()
    }
    # One that was cut off leaves the lock to the next.
    Assert-Equal (Invoke-Alone $lock 10000 { $done.count += 1 }) $true
    Assert-Equal $done.count 1
}
Complete-Tests
