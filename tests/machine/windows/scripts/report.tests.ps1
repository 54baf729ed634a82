# Azure: the outcome in the extension's status, beside what the extension has written itself.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/report.ps1"

function Write-Log { $told.lines += $args[0] }
$told = @{ lines = @() }
$fakeBefore = '[{"version":1,"timestampUTC":"2026-01-02T03:04:05Z","status":{"name":"Custom Script Handler","operation":"Command Execution Finished","status":"success","code":0,"formattedMessage":{"lang":"en-US","message":"Command execution finished"},"substatus":[{"name":"StdOut","status":"success","code":0,"formattedMessage":{"lang":"en-US","message":"first wave"}}]}}]'

function New-Case {
    param($Text = $fakeBefore)
    $machine = New-Data @'
statusFiles FOLDER/*/Status/*.status
file FOLDER/1.10.20/Status/0.status
stages [{"name":"network","exitCode":24},{"name":"join","exitCode":25}]
exitCodes {"reboot":3010,"accessRights":19,"rebootLoop":20}
'@
    New-Folder (Split-Path -Parent $machine.file)
    Write-Text $machine.file $Text
    $machine
}
# The file as the cloud's agent reads it: a list with one status.
function Get-Status {
    param($Machine)
    $text = Read-Text $Machine.file
    if ($text -notmatch '^\[\{') { throw "no list: $text" }
    @(ConvertFrom-Json $text)[0].status
}

Test 'an outcome replaces the one before, in words, and the status itself stays' {
    $machine = New-Case
    foreach ($case in Read-Table @'
code|status|words
24|error|stage network failed with exit code 24; it is tried again
19|error|the bootstrap failed with exit code 19; it is tried again
3010|success|the machine restarts to finish the installation of features
0|success|the node has joined
'@) {
        Set-Report $machine $case.code
        $status = Get-Status $machine
        Assert-Equal @($status.name, $status.status, $status.code) @('Custom Script Handler', 'success', 0)
        Assert-Equal @($status.substatus.name) @('StdOut', 'fenestra')
        Assert-Equal $status.substatus[0].formattedMessage.message 'first wave'
        $own = $status.substatus[1]
        Assert-Equal @($own.status, $own.code, $own.formattedMessage.lang) @($case.status, $case.code, 'en-US')
        Assert-Equal ($own.formattedMessage.message -replace '^\d{4}-\d\d-\d\dT\S+Z ') $case.words
    }
}
Test 'a missing or unreadable file ends no run' {
    $machine = New-Case 'not JSON'
    Set-Report $machine 25
    Assert-Equal (Read-Text $machine.file) 'not JSON'
    Remove-Item $machine.file
    Set-Report $machine 25
    Assert-Equal $told.lines.Count 2
}
Complete-Tests
