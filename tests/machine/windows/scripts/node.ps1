# A node on which all is well, for the rounds of the health task.
# The state of the machine, of which real records are read in guard.tests.ps1.
function Get-NodeState { $fakePc.state }
function Get-Due { $fakePc.due | ForEach-Object { @{ name = $_ } } }
function Initialize-Hns { Invoke-Call 'Initialize-Hns' -Sure { @() } }
$fakeWrite = ${function:Write-Text}
function Write-Text {
    param($Path, $Text)
    Invoke-Call 'Write-Text' -Sure { & $fakeWrite $Path $Text }
}
function Get-ChildItem { Invoke-Call 'Get-ChildItem' { @() } }
New-Folder "$temp/state"
foreach ($name in 'conflist', 'template') { [IO.File]::WriteAllText("$temp/cni.$name", '{"name":"cni"}') }
[IO.File]::WriteAllText("$temp/kubectl", '')
$fakeMachine = New-Data @"
stages [{"name":"network","takes":true}]
programs.crictl crictl
programs.kubectl $temp/kubectl
paths.state $temp/state
paths.logs $temp/logs
paths.containerdConfig $temp/cni.template
paths.kubeconfig $temp/state
paths.node $temp/node.json
network.routes[] 169.254.169.254/32
network.conflist $temp/cni.conflist
network.conflistTemplate $temp/cni.template
watch {"roundSeconds":600,"beatSeconds":300,"lostRounds":2,"sickRounds":3,"logBytes":10,"healthPatience":300,"healthPort":10261,"kubeletHealth":"kubelet","proxyHealth":"kube-proxy"}
"@
# crictl, with sandboxes by their addresses of which one that is held does not stop; kubectl.
$fakePrograms = @{
    'wevtutil.exe' = { $fakePc.events }
    crictl         = {
        $fakeId = $args[0][-1]
        switch (@($args[0])[4]) {
            'info' { '{"status":{}}' }
            'pods' { @($fakePc.sandboxes.Keys) }
            'inspectp' {
                if (-not $fakePc.sandboxes.Contains($fakeId)) { throw 'crictl ended with 1: code = NotFound' }
                "$fakeId $($fakePc.sandboxes[$fakeId])"
            }
            'stopp' {
                if ($fakePc.held -contains $fakeId) { throw 'crictl ended with 1: deadline exceeded' }
                Add-Deed "stopp $fakeId"
                $fakePc.sandboxes.Remove($fakeId)
            }
        }
    }
    kubectl        = {
        if ($args[0] -contains 'get') { return "Ready=$($fakePc.ready);" }
        $fakePc.notes.count += 1
        foreach ($pair in $args[0] -like 'fenestra.dev/*') { $fakePc.notes[($pair -split '=|-$')[0]] = ($pair -split '=')[1] }
    }
}
function Reset-Node {
    param($Values = @{})
    Reset-Pc @{
        programs = $fakePrograms; words = @{ crictl = 4; kubectl = 4 }; sure = 'stopp', 'annotate'
        boot = 'boot-1'; state = 'up'; due = @(); notes = @{}; ready = $true; status = 200; held = @(); processes = @('flanneld', 'kube-proxy', 'kubelet')
        tasks = @{ 'fenestra-run' = @{ State = 'Running' } }; networks = @(@{ ID = 'n1'; Name = 'flannel.4096' }); policylists = @(@{ ID = 'p1' })
        sandboxes = [ordered] @{ a = '10.244.3.4'; host = ''; b = '10.244.3.5' }
        answer = { if ($args[0] -match '^GET kube') { if ($fakePc.status -ne 200) { throw "refusal $($fakePc.status)" }; return 'ok' }; Get-AwsAnswer $args[0] $args[1] }
    }
    $fakePc.routes += New-Route '169.254.169.254/32' 7 '10.0.0.1'
    foreach ($name in 'hns', 'containerd', 'kubelet') { $fakePc.services[$name] = @{ start = 'Manual'; status = 'Running'; id = 100 * $fakePc.services.Count + 100 } }
    Set-Values $fakePc $Values
}
