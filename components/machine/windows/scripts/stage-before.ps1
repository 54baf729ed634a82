# Before: what the user wants done before the machine joins: time zone, script.
param(
    [object] $Machine
)
$own = $Machine.own
if ($own.timeZone) {
    Invoke-Program 'tzutil.exe' @('/s', $own.timeZone) | Out-Null
}
if ($own.before) {
    Invoke-Program 'powershell.exe' @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $own.before) | ForEach-Object { Write-Log $_ }
}
