# Azure: the outcome in the extension's status, beside what the extension has written itself.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/report.ps1"

function Write-Log { $told.lines += $args[0] }
$told = @{ lines = @() }
$fakeBefore = '[{"version":1,"timestampUTC":"2026-01-02T03:04:05Z","status":{"name":"Custom Script Handler","operation":"Command Execution Finished","status":"success","code":0,"formattedMessage":{"lang":"en-US","message":"Command execution finished"},"substatus":[{"name":"StdOut","status":"success","code":0,"formattedMessage":{"lang":"en-US","message":"first wave"}}]}}]'

function New-Case {
    param([string] $Text = $fakeBefore)
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/1.10.20/Status"
    Write-Text "$folder/1.10.20/Status/0.status" $Text
    $told.lines = @()
    ConvertTo-Data @{
        statusFiles = "$folder/*/Status/*.status"
        file        = "$folder/1.10.20/Status/0.status"
        stages      = @(@{ name = 'network'; exitCode = 24 }, @{ name = 'join'; exitCode = 25 })
        exitCodes   = @{ reboot = 3010; accessRights = 19; rebootLoop = 20 }
    }
}
# The file as the cloud's agent reads it: a list with one status.
function Get-Status {
    param($Machine)
    $text = Read-Text $Machine.file
    if ($text -notmatch '^\[\{') { throw "no list: $text" }
    @(ConvertFrom-Json $text)[0].status
}

Test 'a stage that failed is told with its name and its exit code, and the status itself stays' {
    $machine = New-Case
    Set-Report $machine 25
    $status = Get-Status $machine
    Assert-Equal @($status.name, $status.status, $status.code) @('Custom Script Handler', 'success', 0)
    Assert-Equal @($status.substatus.name) @('StdOut', 'fenestra')
    Assert-Equal $status.substatus[0].formattedMessage.message 'first wave'
    Assert-Equal @($status.substatus[1].status, $status.substatus[1].code, $status.substatus[1].formattedMessage.lang) @('error', 25, 'en-US')
    if ($status.substatus[1].formattedMessage.message -notmatch '^\d{4}-\d\d-\d\dT\S+Z stage join failed with exit code 25; it is tried again$') {
        throw $status.substatus[1].formattedMessage.message
    }
}
Test 'the next outcome takes the place of the one before' {
    $machine = New-Case
    Set-Report $machine 24
    Set-Report $machine 25
    Set-Report $machine 0
    $own = @((Get-Status $machine).substatus | Where-Object { $_.name -eq 'fenestra' })
    Assert-Equal @($own.Count, $own[0].status, $own[0].code) @(1, 'success', 0)
    if ($own[0].formattedMessage.message -notmatch 'the node has joined$') {
        throw $own[0].formattedMessage.message
    }
}
Test 'a reboot is no error, and a code of no stage is told as it is' {
    $machine = New-Case
    Assert-Equal (Get-ReportText $machine 3010) 'the machine restarts to finish the installation of features'
    Assert-Equal (Get-ReportText $machine 19) 'the bootstrap failed with exit code 19; it is tried again'
    Set-Report $machine 3010
    Assert-Equal @((Get-Status $machine).substatus)[1].status 'success'
}
Test 'a status without parts gets one' {
    $machine = New-Case '[{"version":1,"status":{"name":"Custom Script Handler","status":"success","code":0}}]'
    Set-Report $machine 25
    Assert-Equal @((Get-Status $machine).substatus.code) @(25)
}
Test 'a file that cannot be read or is not there ends no run' {
    $machine = New-Case 'not JSON'
    Set-Report $machine 25
    Assert-Equal (Read-Text $machine.file) 'not JSON'
    Remove-Item -LiteralPath $machine.file
    Set-Report $machine 25
    Assert-Equal $told.lines.Count 2
}
Test 'on AWS there is no such file and nothing is written' {
    $machine = New-Case
    $machine.statusFiles = ''
    Set-Report $machine 25
    Assert-Equal (Read-Text $machine.file) $fakeBefore
    Assert-Equal $told.lines @()
}
Complete-Tests
