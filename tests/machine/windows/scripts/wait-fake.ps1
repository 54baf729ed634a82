# In place of Wait-Until of lib.ps1: the time of a test is the sum of the pauses.
function Wait-Until {
    param($Condition, $Seconds, $What, $PauseSeconds = 2)
    for ($spent = 0; $true; $spent += $PauseSeconds) {
        $value = & $Condition
        if ($value) { return $value }
        if ($spent -ge $Seconds) { throw "waited $Seconds s in vain for $What" }
        Start-Sleep -Seconds $PauseSeconds
    }
}
