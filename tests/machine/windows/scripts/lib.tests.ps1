# What every script shares: programs and their two streams, access rights, the lock; and stages as processes.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/hns.ps1"

Test 'what the log, an event or the console does not take ends nobody' {
    . "$scripts/files.ps1"
    function Write-Event { throw 'full' }
    function Write-Console { throw 'in use' }
    $LogFile = $temp
    $ConsolePort = 'COM1'
    Write-Notice 'x'
    function New-Folder { throw 'full' }
    Start-Log (New-Data) 'x'
}
function Write-Log { }
# The shell that runs this test is a program that every system has.
function Get-Call {
    param($Command)
    , @('-NoProfile', '-NonInteractive', '-Command', $Command)
}

Test 'a program that does not start is told by its path, whatever the last exit code' {
    $path = Join-Path $temp 'broken.exe'
    Write-Text $path 'MZ but no program'
    if (Get-Command -Name chmod -ErrorAction SilentlyContinue) { & chmod 0755 $path }
    Invoke-Program $shell (Get-Call 'exit 0')
    Assert-Throws { Invoke-Program $path @() } "$([Regex]::Escape($path)) (does not start|ended with [1-9])"
}
Test 'stderr is no part of an answer, and told with the code of a failure' {
    $streams = '[Console]::Error.WriteLine(''no such thing''); [Console]::Out.WriteLine(''at work'')'
    foreach ($code in 0, 3) { Assert-Equal @(Invoke-Program $shell (Get-Call "$streams; exit $code") -Accept 0, 3) @('at work') }
    foreach ($stream in 'no such thing', 'at work') { Assert-Throws { Invoke-Program $shell (Get-Call "$streams; exit 7") } "ended with 7: .*$stream" }
}

if (-not $onWindows) {
Test 'a folder is for system and administrators, by identifiers, in any language of Windows' {
    New-Program 'icacls.exe' "`$args -join '|' | Add-Content -Path '$temp/rights'"
    $path = Join-Path $temp 'protected/inner'
    Protect-Folder $path
    Protect-Folder $path
    Assert-True (Test-Path $path)
    $expected = "$path|/inheritance:r|/grant:r|*S-1-5-18:(OI)(CI)F|*S-1-5-32-544:(OI)(CI)F"
    Assert-Equal @(Get-Content "$temp/rights") @($expected, $expected)
}
}
Test 'arguments come out of a program as they went in' {
    $call = New-Program 'echo-arguments' '$args | ForEach-Object { "<$_>" }'
    $words = 'plain', 'with blank', 'C:\a b\', '{.spec.podCIDR}', '*S-1-5-18:(OI)(CI)F'
    Assert-Equal @(Invoke-Program $call $words) @($words | ForEach-Object { "<$_>" })
}
Test 'standard input reaches a program, and its lines come back' {
    $call = New-Program 'echo-input' '[Console]::In.ReadToEnd().ToUpperInvariant()'
    Assert-Equal @(Invoke-Program $call @() -Text "a`nb`n") @('A', 'B')
}
Test 'a program that exceeds its time is ended, also where it reads nothing' {
    $clock = New-Deadline 60
    foreach ($text in '', ('x' * 200000)) { Assert-Throws { Invoke-Program $shell (Get-Call "`$PID > '$temp/own'; Start-Sleep -Seconds 300") -Seconds 5 -Text $text } 'has not ended within 5 s$' }
    Assert-True ((Get-Left $clock) -gt 20)
    Assert-Equal (Get-Process -Id (Get-Content "$temp/own") -ErrorAction SilentlyContinue).Path $null
}
Test 'a user''s script that leaves a program behind holds nobody up; its output is kept' {
    . "$scripts/stage.ps1"
    function Write-Log { }
    if (-not $onWindows) { & ln -sf $shell "$temp/bin/powershell.exe" }
    $machine = New-Data
    New-Folder $machine.paths.logs
    $clock = New-Deadline 60
    Write-Text "$temp/after.ps1" "Write-Output 'agent started'; Start-Process -FilePath '$shell' -ArgumentList '-NoProfile', '-Command', 'Start-Sleep 120' -NoNewWindow"
    Invoke-OwnScript $machine "$temp/after.ps1"
    Assert-True ((Get-Left $clock) -gt 10)
    Assert-True (Read-Text "$($machine.paths.logs)/own-after.log").Contains('agent started')
    Write-Text "$temp/after.ps1" 'exit 4'
    Assert-Throws { Invoke-OwnScript $machine "$temp/after.ps1" } 'ended with 4'
    Write-Text "$temp/after.ps1" 'Start-Sleep 99'
    function Stop-Tree { $args[0].Kill(); $clock.ended = 1 }
    Assert-Throws { Invoke-OwnScript $machine "$temp/after.ps1" 1 } 'within 1 s$'
    Assert-Equal $clock.ended 1
}
if (-not $onWindows) {
Test 'a program that leaves one behind at its output holds nobody up' {
    $clock = New-Deadline 60
    Assert-Throws { Invoke-Program 'sh' @('-c', 'sleep 120 &') } 'its output has not$'
    Assert-True ((Get-Left $clock) -gt 20)
}
}
Test 'while another process holds the lock nothing is done' {
    $ran = @{ count = 0 }
    $lock = "test-$([Guid]::NewGuid())"
    $started = Join-Path $temp 'held'
    $hold = "`$m = New-Object Threading.Mutex `$true, 'Global\fenestra-$lock'; Set-Content -Path '$started' -Value 1; Start-Sleep -Seconds 60"
    $other = Start-Process -FilePath $shell -ArgumentList @('-NoProfile', '-NonInteractive', '-EncodedCommand', [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($hold))) -PassThru
    try {
        Wait-Until { Test-Path $started } 60 'the other process' 1
        Assert-False (Invoke-Alone $lock 0 { $ran.count += 1 })
        Assert-Equal $ran.count 0
    }
    finally {
        $other.Kill()
        $other.WaitForExit()
    }
    # One that was cut off leaves the lock to the next.
    $waits = New-Object Threading.Mutex $false, "Global\fenestra-$lock"
    Assert-True (Invoke-Alone $lock 10000 { $ran.count += 1 })
    Assert-Equal $ran.count 1
    # And so does one that goes on, as the health task does.
    $next = [PowerShell]::Create().AddScript({ $args[0].WaitOne(1000) }).AddArgument($waits)
    $call = $next.BeginInvoke()
    Assert-True @($next.EndInvoke($call))[0]
}
Test 'a stage that hangs, whose run has died, ends with what it has started, and leaves its lock to the next' {
    if (-not $onWindows) { New-Program 'taskkill.exe' "Get-Content '$temp/child' | ForEach-Object { Stop-Process -Force -Id `$_ }; exit 1" }
    Copy-Item -Recurse -LiteralPath $scripts -Destination "$temp/alone"
    Add-Content -Path "$temp/alone/state.ps1" -Value 'function Get-BootId { 1 }'
    $name = "$([Guid]::NewGuid())"
    Write-Text "$temp/alone/machine.json" (ConvertTo-Json -Depth 5 @{ paths = @{ state = $temp; logs = $temp }; stages = @(@{ name = $name; script = 'hangs.ps1'; scope = 'once'; hash = 'h'; exitCode = 21; limitSeconds = 5 }) })
    Write-Text "$temp/alone/hangs.ps1" "if (Test-Path '$temp/child') { return }; (Start-Process -FilePath '$shell' -ArgumentList '-Command', 'Start-Sleep 300' -PassThru).Id | Set-Content '$temp/child'; Start-Sleep 300"
    $stage = '-NoProfile', '-NonInteractive', '-File', "$temp/alone/stage.ps1", '-Name', $name
    $hangs = Start-Process -FilePath $shell -ArgumentList $stage -PassThru
    try { Assert-True $hangs.WaitForExit(40000) } finally { Stop-Process -Force -Id $hangs.Id -ErrorAction SilentlyContinue }
    # What has ended has no path, also where nobody has asked for its code yet.
    Assert-Equal (Get-Process -Id (Get-Content "$temp/child") -ErrorAction SilentlyContinue).Path $null
    $clock = New-Deadline 60
    & $shell @stage
    # Nothing of it waits for its limit.
    Assert-Equal @($LASTEXITCODE, (Test-Path "$temp/$name.json"), ((Get-Left $clock) -gt 40)) @(0, $true, $true)
    # One that another does all the time has not been done by this one.
    Remove-Item "$temp/$name.json"
    $held = New-Object Threading.Mutex $true, "Global\fenestra-stage-$name"
    & $shell @stage
    Assert-Equal @(($LASTEXITCODE -ne 0), (Test-Path "$temp/$name.json")) @($true, $false)
    $held.ReleaseMutex()
}
foreach ($does in 'throw new System.Exception("full")', 'System.Threading.Thread.Sleep(60000)') {
    Test "a notice is on the console, cut, and its process ends, also where its event ends by '$does'" {
        $text = (Read-Text "$scripts/files.ps1").Replace('[Diagnostics.EventLog]', '[Log]').Replace('[Diagnostics.EventLogEntryType]', '[Kind]').Replace('(10000)', '(2000)')
        Write-Text "$temp/notice.ps1" @"
Add-Type 'public enum Kind { Warning } public static class Log { public static void WriteEntry(string a, string b, Kind c, int d) { $does; } }'
$text
function Write-Log { `$args[0].Substring(0, [Math]::Min(99, `$args[0].Length)) }
function Write-Console { `$args[0].Length }
`$ConsolePort = 'COM1'
Write-Notice ('x' * 40000) 'Warning'
exit 3
"@
        $clock = New-Deadline 30
        $said = @(& $shell -NoProfile -NonInteractive -File "$temp/notice.ps1")
        Assert-Equal @($LASTEXITCODE, $said[2], ($said[1] -match '^no event: .*(\(full\)|no answer)'), ((Get-Left $clock) -gt 0)) @(3, '30000', $true, $true)
    }
}
Test 'C# is compiled once, again where torn, and by each process where unwritten' {
    $source = 'namespace Fenestra { public static class Once { public static int Two() { return 2; } } }'
    Import-Source 'once' $source
    Assert-Equal ([Fenestra.Once]::Two()) 2
    $file = "$scripts/$((Get-ChildItem -Name -Path $scripts -Filter 'once-*.dll'))"
    $whole = [IO.File]::ReadAllBytes($file)
    $compiled = @{ for = @(); fails = $false }
    function Add-Type {
        param($TypeDefinition, $OutputAssembly, $OutputType)
        if ($OutputAssembly -and $compiled.fails) { throw 'no room' }
        $compiled.for += "$OutputType"
        if ($OutputAssembly) { [IO.File]::WriteAllBytes($OutputAssembly, $whole) }
    }
    Import-Source 'once' $source
    Assert-Equal $compiled.for @()
    foreach ($torn in (New-Object byte[] 99), [byte[]] (77, 90, 1)) {
        [IO.File]::WriteAllBytes($file, $torn)
        Import-Source 'once' $source
        Assert-Equal ([IO.File]::ReadAllBytes($file).Length) $whole.Length
    }
    $compiled.fails = $true
    Import-Source 'once' "$source "
    Assert-Equal $compiled.for @('Library', 'Library', '')
    Assert-Equal @(Get-ChildItem -Name -Path $scripts -Filter '*.dll').Count 1
}

. "$scripts/run.ps1"
function Write-Log { }
$commands = @{}
$processes = @{}
# In place of the stage's script: a command in a process of the shell that runs this test.
function Start-StageProcess {
    param($Name)
    $process = Start-Process -FilePath $shell -ArgumentList @('-NoProfile', '-NonInteractive', '-EncodedCommand', [Convert]::ToBase64String([Text.Encoding]::Unicode.GetBytes($commands[$Name]))) -PassThru
    $process.Handle | Out-Null
    $processes[$Name] = $process
    $process
}
# taskkill, which only Windows has.
function Invoke-Program {
    param($Path, $Arguments)
    Assert-Equal @($Path, $Arguments[0], $Arguments[2], $Arguments[3]) @('taskkill.exe', '/PID', '/T', '/F')
    Stop-Process -Force -Id ([int] $Arguments[1])
}
$stages = @((New-Data).stages | Where-Object { 'features', 'artifacts' -contains $_.name })

Test 'a stage that exceeds its time is ended; another of its wave keeps its code' {
    $commands.features = 'Start-Sleep -Seconds 300'
    $commands.artifacts = 'exit 7'
    $stages[0].limitSeconds = 2
    $clock = New-Deadline 100
    $codes = Invoke-Wave $stages
    Assert-Equal @($codes.features, $codes.artifacts, $processes.features.HasExited) @(21, 7, $true)
    Assert-True ((Get-Left $clock) -gt 0)
}
Complete-Tests
