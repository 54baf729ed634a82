# In place of Write-Log and Write-Notice of files.ps1, in tests that do not look at the log.
$fakeNotices = @{ told = @() }
function Write-Log {
    param([string] $Message)
}
function Write-Notice {
    param([string] $Message, [string] $Kind)
    $fakeNotices.told += $Message
}
