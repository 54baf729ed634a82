# Ready: waits until the API reports the node Ready, then notifies the cloud and deletes the token.
param($Machine)
. "$PSScriptRoot/identity.ps1"
. "$PSScriptRoot/joined.ps1"
. "$PSScriptRoot/hns.ps1"
$node = Get-Node $Machine
$patience = $Machine.watch.sickRounds * $Machine.watch.healthSeconds
$well = New-Deadline $patience

# Until the node has been Ready once, the health task repairs nothing: HNS or a kubelet that hangs ends the stage, and
# the stages that start them are repeated. A kubelet without its certificate waits, and has no address.
function Assert-Answers {
    try {
        Invoke-Hns GET '/networks/' '' 10 | Out-Null
        if (Test-Path -LiteralPath "$($Machine.paths.certificates)/kubelet-client-current.pem") {
            Send-Web @{ Uri = $Machine.watch.kubeletHealth } 10 | Out-Null
        }
        $well.seconds = $well.watch.Elapsed.TotalSeconds + $patience
    }
    catch {
        if ((Get-Left $well) -le 0) {
            throw "for $patience s there was no answer: $_"
        }
    }
}

Initialize-Web
# The token may have expired while the API was down, and the kubelet reads it each time it starts: the join stage too is
# repeated after this one has failed, and fetches another one unless the node has its certificate.
Wait-Until {
    $ready = Test-NodeReady $Machine $node.name
    if (-not $ready) {
        Assert-Answers
    }
    $ready
} $Machine.readySeconds "node $($node.name) to be Ready" 5 | Out-Null
Write-Notice "node $($node.name) is Ready"
Remove-Item -Force -LiteralPath $Machine.paths.bootstrapKubeconfig -ErrorAction SilentlyContinue
# It was Ready once, whatever the group answers.
Write-Text "$($Machine.paths.state)/ready.json" '{}'
if ($Machine.lifecycle) {
    # Any refusal but that no hook waits is tried again, or the group would replace the node.
    Send-Lifecycle $Machine $Machine.lifecycle.launchHook 'CompleteLifecycleAction' 'CONTINUE'
}
