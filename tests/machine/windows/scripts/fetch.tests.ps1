# The first script on AWS: what is fetched is checked, and a restart meanwhile is not the end.
. "$PSScriptRoot/harness.ps1"
Copy-Item -LiteralPath "$scripts/fetch.ps1", "$scripts/task.ps1" -Destination $temp
# The real ones, but for what would leave this machine.
Set-Content -Path "$temp/files.ps1" -Value @(
    Get-Content -LiteralPath "$scripts/files.ps1"
    'function Write-Log { }'
    'function Write-Notice { param($Message, $Kind) $fake.told += $Message }'
)
Set-Content -Path "$temp/web.ps1" -Value @(
    'function Initialize-Web { }'
    'function Save-AwsObject {'
    'param($Cloud, $Object, $File)'
    '$fake.order += "fetch $($Object.bucket) $($Object.key)"'
    'if ($fake.refuse -gt 0) { $fake.refuse -= 1; throw "(403) Forbidden, x-amz-security-token:session" }'
    'Copy-Item -Force -LiteralPath "$PSScriptRoot/$($fake.object)" -Destination $File'
    '}'
)

$fake = @{}
function New-ScheduledTaskAction {
    param($Execute, $Argument)
    $Argument
}
function New-ScheduledTaskTrigger {
    param([switch] $AtStartup, [switch] $Once, [DateTime] $At, [TimeSpan] $RepetitionInterval)
    if ($Once) { return "every $($RepetitionInterval.TotalMinutes) min since $($At.Year)" }
    "at startup $AtStartup"
}
function New-ScheduledTaskPrincipal {
    param($UserId, $LogonType, $RunLevel)
    $UserId
}
function New-ScheduledTaskSettingsSet {
    param([TimeSpan] $ExecutionTimeLimit, $Priority)
    "$($ExecutionTimeLimit.TotalSeconds) $Priority"
}
function Register-ScheduledTask {
    param($TaskName, $Action, $Trigger, $Principal, $Settings, [switch] $Force)
    $fake.order += "task $TaskName"
    $fake.tasks += $TaskName
    $fake.task = @($Action, $Trigger, $Principal, $Settings)
}
function Start-ScheduledTask {
    param($TaskName)
    $fake.order += "start $TaskName"
}
function Get-ScheduledTask {
    param($TaskName)
    $fake.tasks | Where-Object { $_ -eq $TaskName }
}
function Unregister-ScheduledTask {
    param($TaskName, [switch] $Confirm)
    $fake.order += "forget $TaskName"
}
function Start-Sleep {
    param($Seconds)
    $fake.slept += $Seconds
}

# Writes the second archive, whose only script is the bootstrap's entry, and another one that nobody asked for.
function Write-Archive {
    param($Name, $Text)
    [IO.File]::WriteAllText("$temp/$Name", (@{ files = @{ "$temp/bootstrap.ps1" = $Text } } | ConvertTo-Json -Compress))
}
Write-Archive 'right.json' '$fake.order += ''bootstrap''; exit 0'
Write-Archive 'forged.json' '$fake.order += ''forged''; exit 0'
$digest = (Get-FileHash -LiteralPath "$temp/right.json" -Algorithm SHA256).Hash.ToLowerInvariant()
ConvertTo-Json @{ bucket = 'b'; key = 'k'; sha256 = $digest } | Set-Content -Path "$temp/scripts.json"
ConvertTo-Json -Depth 5 @{
    cloud = @{ kind = 'aws' }
    paths = @{ logs = "$temp/logs" }
    tasks = @(@{ name = 'fenestra-run' }, @{ name = 'fenestra-health' })
    retry = @{ pauseSeconds = @(10, 20) }
} | Set-Content -Path "$temp/machine.json"
function Reset-Fake {
    Set-Values $fake @{ order = @(); tasks = @(); slept = @(); told = @(); refuse = 0; object = 'right.json' }
    Remove-Item -Force -Path "$temp/archive.json", "$temp/bootstrap.ps1" -ErrorAction SilentlyContinue
}

Test 'user data ends with its task, which starts with Windows too, and fetches nothing itself' {
    Reset-Fake
    $fake.refuse = 1
    & "$temp/fetch.ps1"
    Assert-Equal $LASTEXITCODE 0
    Assert-Equal $fake.order @('task fenestra-fetch', 'start fenestra-fetch')
    Assert-True ($fake.task[0] -like '* -File *fetch.ps1 -Resume')
    Assert-Equal @($fake.task[1]) @('at startup True', 'every 5 min since 2020')
    Assert-Equal @($fake.task[2], $fake.task[3]) @('SYSTEM', '0 4')
}
foreach ($case in Read-Table @'
title|tasks[]|does[]|there
fetches, and runs what it fetched||fetch b k, bootstrap|
goes on after a restart in the middle, and does not fetch again||bootstrap|True
begins a bootstrap again that was cut off between its tasks|fenestra-run|fetch b k, bootstrap|
fetches nothing once the bootstrap has its tasks|fenestra-run, fenestra-health||
'@) {
    Test "the task $($case.title), and goes" {
        Reset-Fake
        $fake.tasks = @('fenestra-fetch') + $case.tasks
        if ($case.there) { Copy-Item -LiteralPath "$temp/right.json" -Destination "$temp/archive.json" }
        & "$temp/fetch.ps1" -Resume
        Assert-Equal $fake.order ($case.does + 'forget fenestra-fetch')
    }
}
Test 'a refusal is told where both clouds show it, without what was answered, and tried again with growing pauses' {
    Reset-Fake
    $fake.refuse = 3
    & "$temp/fetch.ps1" -Resume
    Assert-Equal $fake.slept @(10, 20, 20)
    Assert-Equal $fake.told.Count 3
    Assert-False ("$($fake.told)" -match 'session')
    Assert-Equal $fake.order[-2] 'bootstrap'
}
Test 'scripts with another digest are never run' {
    Reset-Fake
    $fake.object = 'forged.json'
    function Start-Sleep { throw 'still not right' }
    Assert-Throws { & "$temp/fetch.ps1" -Resume } 'still not right'
    Assert-Equal $fake.order @('fetch b k')
    Assert-True ($fake.told[0] -like 'the scripts that were fetched have the SHA-256 *, expected *')
    Assert-False (Test-Path "$temp/bootstrap.ps1")
}
Complete-Tests
