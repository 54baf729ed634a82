# After: what the user wants done once the node is Ready: annotations, script.
param(
    [object] $Machine
)
. "$PSScriptRoot/identity.ps1"
$own = $Machine.own
if ($own.patch) {
    $node = Get-Node $Machine
    Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'patch', 'node', $node.name, '--patch-file', $own.patch) | Out-Null
}
if ($own.after) {
    Invoke-Program 'powershell.exe' @('-NoProfile', '-NonInteractive', '-ExecutionPolicy', 'Bypass', '-File', $own.after) | ForEach-Object { Write-Log $_ }
}
