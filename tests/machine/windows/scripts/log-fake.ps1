# In place of Write-Log and Write-Notice of files.ps1, in tests that do not look at the log.
$fakeNotices = @{ told = @() }
function Write-Log { }
function Write-Notice { $fakeNotices.told += $args[0] }
