# Ready: waits until the API says so, then tells the cloud and forgets the token.
param(
    [object] $Machine
)
. "$PSScriptRoot/identity.ps1"
$node = Get-Node $Machine
# No quotes: Windows PowerShell loses them on the way to a program.
$path = '{range .status.conditions[*]}{.type}={.status};{end}'

# An API that cannot be reached is not an error yet: the kubelet may still wait for its certificate.
function Test-Ready {
    try {
        $answer = Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'get', 'node', $node.name, '-o', "jsonpath=$path")
        "$answer" -split ';' -contains 'Ready=True'
    }
    catch {
        $false
    }
}

try {
    Wait-Until { Test-Ready } $Machine.readySeconds "node $($node.name) to be Ready" 5 | Out-Null
}
catch {
    # The token may have run out while the API was away, and the kubelet reads it at each of its starts: the next attempt joins anew, which
    # fetches another one unless the node has its certificate.
    Remove-Item -Force -LiteralPath "$($Machine.paths.state)/join.json" -ErrorAction SilentlyContinue
    throw
}
Write-Notice "node $($node.name) is Ready"
Remove-Item -Force -LiteralPath $Machine.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
if ($Machine.lifecycle) {
    Initialize-Web
    try {
        Send-Lifecycle $Machine $Machine.lifecycle.launchHook 'CompleteLifecycleAction' 'CONTINUE'
    }
    catch {
        # A node that joins anew after its launch has no hook to complete. Any other refusal is tried again, or the group gives the node up.
        if ("$($_.ErrorDetails) $_" -notmatch 'No active Lifecycle Action') {
            throw
        }
        Write-Log 'no launch hook is waiting'
    }
}
