# What scripts do when they are started: loops that go on, arguments, exit codes; and the calls that end a drain.
. "$PSScriptRoot/fakes.ps1"
Copy-Item "$source/podNetworks/azureCni/start-kube-proxy.ps1" -Destination $scripts
. "$scripts/lib.ps1"

# Starts a script with these functions instead of its own. Where it would go on for ever a pause throws.
function Invoke-Main {
    param($Script, $Functions, $Arguments = @{})
    Set-Values $fakePc @{ deeds = @(); rounds = 0; code = 0; exitCode = 7; exits = -not $fakePc.breaks }
    $text = Read-Text "$scripts/$Script.ps1"
    $always = 'function Start-Log { }; function Write-Log { Add-Did "log $args" }; function Write-Notice { Add-Did "told $args" }'
    Write-Text "$scripts/main.ps1" $text.Replace('$machine = Get-Machine', "$always`n$Functions`n`$machine = Get-Machine")
    try {
        & "$scripts/main.ps1" @Arguments | Out-Null
        $fakePc.code = $LASTEXITCODE
    }
    catch {
        Add-Did "ends: $_"
    }
}
function Add-Did { Add-Deed "$($args | ForEach-Object { $_ })" }
Write-Text "$temp/token" 'token'
Write-Text "$temp/sandbox/config.yaml" 'a: b'
Write-Text "$scripts/machine.json" (New-Data @"
watch {"healthSeconds":30,"noticeSeconds":5,"roundSeconds":600}
paths.node $temp/node.json
paths.certificates $temp
logs {"program":"otelcol.exe","seconds":9,"files":["COLLECTOR_CONFIG","FAKE_NONE"],"kubeconfig":"c.conf"}
kubeProxy {"program":"kube-proxy.exe","seconds":9,"kubeconfig":"p.conf","arguments":["--hostname-override=@NODE_NAME@"]}
"@ | ConvertTo-Json -Depth 5)

Test 'the health task goes on behind a round that has failed, with a guard' {
    Invoke-Main 'watch-health' @'
function Start-Guard { Add-Did "guard $($args[1].duty)" }
function Get-BootId { 'boot-1' }
function Invoke-Round { $fakePc.rounds += 1; if ($fakePc.rounds -eq 1) { throw 'bad' }; $args[2].round = $null; Add-Did "round $($args[1])" }
function Start-Sleep { if ($fakePc.rounds -gt 1) { throw "pause $args in $($memory.round.seconds)" } }
'@
    Assert-Equal $fakePc.deeds @('guard the boot', 'log health: bad', 'round boot-1', 'ends: pause -Seconds 30 in 600')
}
Test 'the task of notices goes on behind failed rounds, and when the machine may go' {
    Invoke-Main 'watch-notices' @'
function Invoke-Round { $fakePc.rounds += 1; if ($fakePc.rounds -eq 1) { throw 'bad' }; $fakePc.rounds -eq 2 }
function Start-Sleep { Add-Did "pause $args"; if ($fakePc.rounds -eq 3) { throw 'and so on' } }
'@
    Assert-Equal $fakePc.deeds @('log notices: bad', 'pause -Seconds 5', 'told the cloud may take this machine now', 'pause -Seconds 900', 'pause -Seconds 5', 'ends: and so on')
}
Test 'a drain has its time and hook, or is taken back' {
    $functions = 'function Get-NodeName { "n1" }; function Invoke-Drain { param($Machine, $Node, $Seconds, $Hook, [switch] $Returns, [switch] $Leaves); Add-Did "$Node $Seconds $Hook $Returns $Leaves" }; function Set-Cordon { param($Machine, $Node, $Deadline, [switch] $Off); Add-Did "$Node $($Deadline.seconds) $Off" }'
    Invoke-Main 'drain' $functions @{ Seconds = 90; Hook = 'h'; Returns = $true }
    Assert-Equal @($fakePc.deeds, $fakePc.code) @(@('n1 90 h True False'), 0)
    Invoke-Main 'drain' $functions @{ Seconds = 90; Leaves = $true }
    Assert-Equal $fakePc.deeds @('n1 90  False True')
    Invoke-Main 'drain' $functions @{ Seconds = 0 }
    Assert-Equal $fakePc.deeds @('n1 20 True')
}
Test 'a node drains itself by its joined name while the metadata service is busy' {
    $functions = 'function Get-NodeName { if ($CallsEnd.seconds -ne 10) { throw "no limit" }; throw 503 }; function Invoke-Drain { param($Machine, $Node); Add-Did $Node }'
    Write-Text "$temp/kubelet-client-current.pem" (New-Pem 'i-0fedcba9876543210')
    foreach ($case in @{ file = '{"name":"n2"}'; name = 'n2' }, @{ file = '{"na'; name = 'i-0fedcba9876543210' }) {
        Write-Text "$temp/node.json" $case.file
        Invoke-Main 'drain' $functions @{ Seconds = 90 }
        Assert-Equal $fakePc.deeds @('log 503', $case.name)
    }
    Remove-Item "$temp/kubelet-client-current.pem"
    Invoke-Main 'drain' $functions @{ Seconds = 90 }
    Assert-Equal $fakePc.deeds @('log 503', 'ends: nobody says which node this is')
}
foreach ($breaks in $false, $true) {
    Test "pods of programs end with their program, which never outlives them: $breaks" {
        $fakePc.breaks = $breaks
        $end = if ($breaks) { 'kill', 'ends: Exception calling "WaitForExit" with "0" argument(s): "broken"' } else { @() }
        $env:COLLECTOR_CONFIG = '/config.yaml'
        $env:CONTAINER_SANDBOX_MOUNT_POINT = "$temp/sandbox"
        $common = 'function Wait-Program { Add-Did "waits $args" }; function Write-PodKubeconfig { Add-Did $args[1] };'
        Invoke-Main 'start-collector' $common
        Assert-Equal $fakePc.deeds @(@('waits otelcol.exe 9', 'c.conf', "otelcol.exe --config $(Join-Path "$temp/sandbox" '/config.yaml')") + $end)
        Assert-Equal $env:KUBECONFIG 'c.conf'
        Invoke-Main 'start-kube-proxy' "$common function Get-Node { @{ name = 'n1'; providerId = 'p'; address = 'a' } }; function Initialize-Network { Add-Did 'network' }; function Start-PodProgram { Start-Process `$args[0] `$args[1] }"
        Assert-Equal $fakePc.deeds @(@('network', 'waits kube-proxy.exe 9', 'p.conf', 'kube-proxy.exe --hostname-override=n1') + $end)
        if (-not $breaks) { Assert-Equal $fakePc.code 7 }
    }
}
Test 'the cloud is told what it waits for, and nothing else' {
    . "$scripts/notice.ps1"
    function Send-Lifecycle { Add-Did $args[1..3] }
    function Invoke-Web { Add-Did $args[0].Uri $args[0].Body }
    $machine = @{ lifecycle = @{ terminateHook = 'h' } }
    foreach ($case in Read-Table @'
finish|did[]
lifecycle|h CompleteLifecycleAction CONTINUE
event|http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01 {"StartRequests":[{"EventId":"e1"}]}
none|
'@) {
        $fakePc.deeds = @()
        Complete-Termination $machine @{ finish = $case.finish; id = 'e1' }
        Assert-Equal $fakePc.deeds $case.did
    }
}
Complete-Tests
