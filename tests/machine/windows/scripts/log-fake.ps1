# In place of Write-Log of lib.ps1, in tests that do not look at the log.
function Write-Log {
    param([string] $Message)
}
