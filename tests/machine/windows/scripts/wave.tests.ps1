# Stages as processes: their exit codes, and one that does not end.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/run.ps1"

$commands = @{}
$processes = @{}
. "$PSScriptRoot/log-fake.ps1"
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
$machine = ConvertTo-Data @{ stages = @(@{ name = 'features'; exitCode = 21; limitSeconds = 120 }, @{ name = 'artifacts'; exitCode = 22; limitSeconds = 120 }) }

Test 'the exit codes of a wave are those of its processes' {
    $commands.features = 'exit 7'
    $commands.artifacts = 'exit 22'
    $codes = Invoke-Wave $machine.stages
    Assert-Equal @($codes.features, $codes.artifacts) @(7, 22)
}
Test 'a stage that does not end in its time is ended and has failed, and the other one of its wave has not' {
    $commands.features = 'Start-Sleep -Seconds 300'
    $commands.artifacts = 'exit 0'
    $machine.stages[0].limitSeconds = 2
    $watch = [Diagnostics.Stopwatch]::StartNew()
    $codes = Invoke-Wave $machine.stages
    Assert-Equal @($codes.features, $codes.artifacts) @(21, 0)
    Assert-True ($watch.Elapsed.TotalSeconds -lt 100)
    Assert-True $processes.features.HasExited
}
Complete-Tests
