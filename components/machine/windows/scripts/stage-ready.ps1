# Ready: waits until the API reports the node Ready, then notifies the cloud and deletes the token.
param([object] $Machine)
. "$PSScriptRoot/identity.ps1"
. "$PSScriptRoot/joined.ps1"
$node = Get-Node $Machine
try {
    Wait-Until { Test-NodeReady $Machine $node.name } $Machine.readySeconds "node $($node.name) to be Ready" 5 | Out-Null
}
catch {
    # The token may have expired while the API was down, and the kubelet reads it each time it starts: the next attempt
    # repeats the join stage, which fetches another one unless the node has its certificate.
    Remove-Item -Force -LiteralPath "$($Machine.paths.state)/join.json" -ErrorAction SilentlyContinue
    throw
}
Write-Notice "node $($node.name) is Ready"
Remove-Item -Force -LiteralPath $Machine.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
if ($Machine.lifecycle) {
    Initialize-Web
    # Any refusal but that no hook waits is tried again, or the group would replace the node.
    Send-Lifecycle $Machine $Machine.lifecycle.launchHook 'CompleteLifecycleAction' 'CONTINUE'
}
