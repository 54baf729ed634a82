# The entry of the bootstrap: its tasks, and what Azure's extension hears of the first wave.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/files.ps1"
Set-Content -Path "$scripts/run.ps1" -Value @(
    'param([switch] $FirstWave)'
    'Add-Deed "first wave $FirstWave"'
    'exit $fakePc.code'
)
foreach ($case in Read-Table @'
title|foreground|code|refused|ends|calls[]
AWS: the tasks do it all|False|0||0|run run, run health
a first wave without a reboot: the tasks go on|True|0||0|first wave True, run run, run health
a failed first wave is told, and all tasks go on|True|22||22|first wave True, run run, run health
a first wave with a reboot: the tasks start with Windows|True|3010||0|first wave True, shutdown 10
a refused restart fails nothing, and the tasks go on|True|3010|access is denied|0|first wave True, shutdown 10, run run, run health
'@) {
    Test $case.title {
        # Another was cut off.
        Reset-Pc @{ tasks = @{ run = @{} }; code = $case.code; programs = @{ 'shutdown.exe' = { Add-Deed "shutdown $($args[0][3])"; if ($case.refused) { throw $case.refused } } } }
        Write-Text "$scripts/machine.json" (New-Data @"
tasks [{"name":"run","script":"run.ps1","minutes":0},{"name":"health","script":"health.ps1","minutes":5}]
foreground $($case.foreground)
"@ | ConvertTo-Json -Depth 20)
        & "$scripts/bootstrap.ps1"
        Assert-Equal $LASTEXITCODE $case.ends
        Assert-Equal $fakePc.deeds (@('task run', 'task health') + $case.calls)
        Assert-True ($fakePc.tasks.health.is[0] -like '* -File health.ps1')
        Assert-Equal @($fakePc.tasks.health.is[1]) @('at startup True', 'every 5 min since 2020')
    }
}
Complete-Tests
