# Ready: waits for the API's word, then forgets the token and lets the group go on.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"

$fakeCloud = @{}
. "$PSScriptRoot/log-fake.ps1"
function Start-Sleep { }
# kubectl: the next answer, the last one for ever; an empty one is an API that cannot be reached.
function Invoke-Program {
    param([string] $Path, [string[]] $Arguments)
    $answer = $fakeCloud.answers[[Math]::Min($fakeCloud.asked, $fakeCloud.answers.Count - 1)]
    $fakeCloud.asked += 1
    if (-not $answer) { throw 'kubectl ended with 1: connection refused' }
    $answer
}
. "$PSScriptRoot/web-fake.ps1"
Add-Content -Path "$scripts/hns.ps1" -Value 'function Invoke-Hns { if ($fakeCloud.dead -eq "HNS") { throw "no answer" } }'
$fakeWeb.answer = {
    param($Call, $Headers, $Body)
    if ($Call -like '*healthz') {
        if ($fakeCloud.dead -eq 'kubelet') { throw 'connection refused' }
        return 'ok'
    }
    if ($Call -ne 'POST https://autoscaling.eu-central-1.amazonaws.com/') { return Get-AwsAnswer $Call $Headers }
    $fakeCloud.hooks += $Body
    if ($fakeCloud.refusal) { Send-Refusal 400 $fakeCloud.refusal }
}
function New-Case {
    param([string[]] $Answers, [string] $Refusal = '')
    $folder = "$temp/$([Guid]::NewGuid())"
    New-Folder "$folder/state"
    Write-Text "$folder/bootstrap.conf" 'token'
    Write-Text "$folder/node.json" '{"name":"i-0123"}'
    $fakeNotices.told = @()
    Set-Values $fakeCloud @{ answers = @($Answers); asked = 0; hooks = @(); refusal = $Refusal; dead = '' }
    ConvertTo-Data @{
        readySeconds = 30
        watch        = @{ sickRounds = 0; healthSeconds = 5; kubeletHealth = 'http://127.0.0.1:10248/healthz' }
        cloud        = @{ kind = 'aws'; region = 'eu-central-1'; domain = 'amazonaws.com' }
        lifecycle    = @{ group = 'demo-win'; launchHook = 'join'; terminateHook = 'drain' }
        programs     = @{ kubectl = 'kubectl.exe' }
        paths        = @{ state = "$folder/state"; node = "$folder/node.json"; certificates = $folder; kubeconfig = "$folder/kubelet.conf"; bootstrapKubeconfig = "$folder/bootstrap.conf" }
    }
}
$ready = 'MemoryPressure=False;Ready=True;'

Test 'a Ready node forgets the token and completes the launch hook' {
    $machine = New-Case @($ready)
    & "$scripts/wait-ready.ps1" -Machine $machine
    Assert-False (Test-Path $machine.paths.bootstrapKubeconfig)
    Assert-Equal $fakeNotices.told @('node i-0123 is Ready')
    Assert-Equal $fakeCloud.hooks @('Action=CompleteLifecycleAction&Version=2011-01-01&AutoScalingGroupName=demo-win&LifecycleHookName=join&InstanceId=i-0123456789abcdef0&LifecycleActionResult=CONTINUE')
}
Test 'an API that cannot be reached and a node that is not Ready yet are waited for' {
    $machine = New-Case @('', 'Ready=False;', 'NotReady=True;', $ready)
    & "$scripts/wait-ready.ps1" -Machine $machine
    Assert-Equal $fakeCloud.asked 4
    Assert-Equal $fakeCloud.hooks.Count 1
}
Test 'a node that does not become Ready is waited for until the limit, and the hook waits' {
    $machine = New-Case @('Ready=False;')
    $machine.readySeconds = 1
    Assert-Throws { & "$scripts/wait-ready.ps1" -Machine $machine } 'waited 1 s in vain for node i-0123 to be Ready'
    Assert-True (Test-Path $machine.paths.bootstrapKubeconfig)
    Assert-Equal $fakeCloud.hooks @()
}
foreach ($dead in 'HNS', 'kubelet') {
    Test "$dead that hangs before the node was Ready ends the stage, long before its limit" {
        $machine = New-Case @('Ready=False;')
        $fakeCloud.dead = $dead
        Write-Text "$($machine.paths.certificates)/kubelet-client-current.pem" 'pem'
        Assert-Throws { & "$scripts/wait-ready.ps1" -Machine $machine } 'for 0 s there was no answer'
        Assert-Equal $fakeCloud.asked 1
    }
}
Test 'a refusal fails the stage, and a repeat tells the group again' {
    $machine = New-Case @($ready) '<Code>AccessDenied</Code>'
    Assert-Throws { & "$scripts/wait-ready.ps1" -Machine $machine } 'AccessDenied'
    $fakeCloud.refusal = ''
    $fakeCloud.hooks = @()
    & "$scripts/wait-ready.ps1" -Machine $machine
    Assert-Equal $fakeCloud.hooks.Count 1
}
Test 'without a group nobody is told' {
    $machine = New-Case @($ready)
    $machine.lifecycle = $null
    & "$scripts/wait-ready.ps1" -Machine $machine
    Assert-Equal $fakeCloud.hooks @()
}
Complete-Tests
