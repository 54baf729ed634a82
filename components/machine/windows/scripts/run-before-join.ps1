# Before: what the user wants done before the machine joins: time zone, script.
param($Machine)
$own = $Machine.own
if ($own.timeZone) {
    Invoke-Program 'tzutil.exe' @('/s', $own.timeZone) | Out-Null
}
if ($own.before) {
    Invoke-OwnScript $Machine $own.before
}
