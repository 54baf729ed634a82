# The entry of the bootstrap: its tasks, and what Azure's extension hears of the first wave.
. "$PSScriptRoot/harness.ps1"
Copy-Item -LiteralPath "$scripts/bootstrap.ps1" -Destination $temp
Set-Content -Path "$temp/lib.ps1" -Value @(
    'function Get-Machine { $fake.machine }'
    'function Start-Log { }'
    'function Write-Log { }'
    'function Restart-Machine { param($Seconds) $fake.calls += "restart in $Seconds"; if ($fake.refused) { throw $fake.refused } }'
)
Set-Content -Path "$temp/task.ps1" -Value 'function Register-StartTask { param($Name, $Command, $Minutes) $fake.calls += "task $Name $Command $Minutes" }'
Set-Content -Path "$temp/run.ps1" -Value @(
    'param([switch] $FirstWave)'
    '$fake.calls += "first wave $FirstWave"'
    'exit $fake.code'
)
$fake = @{}
function Start-ScheduledTask {
    param($TaskName)
    $fake.calls += "start $TaskName"
}
foreach ($case in Read-Table @'
title|foreground|code|refused|ends|calls[]
AWS: the tasks do it all|False|0||0|start run, start health
a first wave without a reboot: the tasks go on|True|0||0|first wave True, start run, start health
a first wave that failed is told, and all tasks go on, that for notices too|True|22||22|first wave True, start run, start health
a first wave that wants a reboot: the tasks start with Windows|True|3010||0|first wave True, restart in 10
a restart that is refused is no failure of the extension, and the tasks go on|True|3010|access is denied|0|first wave True, restart in 10, start run, start health
'@) {
    Test $case.title {
        $fake.calls = @()
        $fake.code = $case.code
        $fake.refused = $case.refused
        $fake.machine = ConvertTo-Data @{ pool = 'w'; kubernetes = '1.36.4'; foreground = $case.foreground; tasks = @(@{ name = 'run'; script = 'run.ps1'; minutes = 0 }, @{ name = 'health'; script = 'health.ps1'; minutes = 5 }) }
        & "$temp/bootstrap.ps1"
        Assert-Equal $LASTEXITCODE $case.ends
        Assert-Equal $fake.calls (@('task run run.ps1 0', 'task health health.ps1 5') + $case.calls)
    }
}
Complete-Tests
