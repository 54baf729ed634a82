# After: what the user wants done once the node is Ready: annotations, script.
param($Machine)
$own = $Machine.own
if ($own.patch) {
    $node = Get-Node $Machine
    Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'patch', 'node', $node.name, '--patch-file', $own.patch) -Seconds 30 | Out-Null
}
if ($own.after) {
    Invoke-OwnScript $Machine $own.after
}
