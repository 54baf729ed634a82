# The whole boot of a pool's machine, its data and all its stages, on a Windows of fakes: it ends Ready from any state in
# which a power failure leaves its files, once all that it calls answers.
. "$PSScriptRoot/machine.ps1"

Test 'a first boot asks for one restart, the second ends Ready with all' {
    # Windows refuses more often than it may restart.
    $fakePc.refused = 3
    foreach ($time in 1, 2, 3) { Assert-Throws { Invoke-Boot } 'ended with 5' }
    Assert-Equal (Invoke-Boot) 3010
    Assert-True $fakePc.restart
    Restart-Fake
    Assert-Ready
    Assert-Equal $fakePc.services.w32time.status 'Running'
    & "$scripts/start-kube-proxy.ps1"
    Assert-Equal @($fakePc.deeds -like '*--source-vip=10.244.3.2*').Count 1
    $environment = $fakePc.registry['SYSTEM\CurrentControlSet\Services\containerd']
    Assert-Equal @(@($environment.Environment)[0], $environment.sddl) @('HTTP_PROXY=http://svc:secret@proxy.example.com:3128', 'D:P(A;CI;KA;;;SY)(A;CI;KA;;;BA) Access')
    Assert-True ($fakePc.console -contains 'fenestra: node i-0123456789abcdef0 is Ready')
    Assert-Equal @($fakePc.told -like '*failed*') @()
    Assert-False ("$($fakePc.log + $fakePc.told + $fakePc.console)" -match '(?<!9)abcdef|svc:secret|AKID')
    # The token is forgotten, and the group has heard of it once.
    Assert-False (Test-Path $fakeData.paths.bootstrapKubeconfig)
    Assert-Equal $fakePc.hooks @("Action=CompleteLifecycleAction&Version=2011-01-01&AutoScalingGroupName=$($fakeData.lifecycle.group)&LifecycleHookName=$($fakeData.lifecycle.launchHook)&InstanceId=i-0123456789abcdef0&LifecycleActionResult=CONTINUE")
}
Test 'a later boot starts these processes' {
    Restart-Fake
    Assert-Ready
    Assert-Equal $fakePc.ran @('credentials', 'network', 'proxy', 'join', 'services')
}
Test 'what is gone or torn of an archive comes back with the next boot' {
    # Without containerd its service would not start, and all would be looked at.
    $unpacked = @($fakeData.artifacts | Where-Object { $fakeArchives[$_.name] -and $_.name -ne 'containerd' } | ForEach-Object { "$($_.folder)/$($fakeArchives[$_.name])" })
    foreach ($how in { Remove-Item $args[0] }, { [IO.File]::WriteAllBytes($args[0], (New-Object byte[] 9)) }) {
        foreach ($path in $unpacked) { & $how $path }
        Restart-Fake
        Assert-Ready
        Assert-Equal @($unpacked | Where-Object { -not (Test-Good $_.Substring($drive.Length)) }) @()
    }
}
Test 'a machine keeps its logins while their store refuses, and asks again' {
    Restart-Fake
    $fakePc.denied = $true
    $fakePc.answer = {
        if ($fakePc.pauses -gt 20) { $fakePc.denied = $false }
        & $fakeAnswer @args
    }
    Assert-Ready
    $fakePc.answer = $fakeAnswer
    Assert-True ($fakePc.ran.Count - 5 -gt 1)
    Assert-False $fakePc.denied
    Assert-True ($fakePc.told -like 'the logins of the last boot are kept*')[0].Contains('ParameterNotFound')
}
foreach ($odd in 'null', '{}', '[]', '7', '"text"', '', 'less', 'empty', 'all') {
    Test "a store of logins that says '$odd' changes no file, and fails a machine without" {
        $files = @($fakeData.credentials.files.path)
        $before = @($files | ForEach-Object { Read-Text $_ })
        $wanted = $fakePc.logins
        $some = $wanted | ConvertFrom-Json
        $first = @($some.PSObject.Properties)[0].Name
        if ($odd -eq 'less') { $some.PSObject.Properties.Remove($first) } else { $some.$first = '' }
        $fakePc.logins = switch ($odd) {
            { 'less', 'empty' -contains $_ } { $some | ConvertTo-Json -Compress }
            'all' { $wanted }
            default { $odd }
        }
        $template = Read-Text $fakeData.credentials.files[0].template
        # All, but not where they belong.
        if ($odd -eq 'all') { Write-Text $fakeData.credentials.files[0].template '' }
        . "$scripts/lib.ps1"
        Assert-Equal @(& "$scripts/read-logins.ps1" -Machine $fakeData)[-1] 'later'
        Assert-Equal @($files | ForEach-Object { Read-Text $_ }) $before
        Remove-Item $files[0]
        Assert-Throws { & "$scripts/read-logins.ps1" -Machine $fakeData } '.'
        Assert-False (Test-Path $files[0])
        Write-Text $files[0] $before[0]
        Write-Text $fakeData.credentials.files[0].template $template
        $fakePc.logins = $wanted
    }
}
$fakeKubectl = $fakePrograms['kubectl.exe']
foreach ($case in Read-Table @'
answers[]|how|asked|hooks|error
refused, Ready=False;, NotReady=True;, MemoryPressure=False;Ready=True;||4|1|
Ready=True;|no group|1|0|
Ready=False;|limit|2|0|^waited 1 s in vain for node i-0123456789abcdef0 to be Ready$
Ready=False;|HNS|1|0|^for 0 s there was no answer: 
Ready=False;|kubelet|1|0|^for 0 s there was no answer: 
Ready=False;|no certificate|2|0|^waited 1 s in vain for node 
Ready=True;|refused|1|0|answered with 500 
'@) {
    Test "a node whose API says $($case.answers) ($($case.how)) is waited for, also by its group" {
        . "$scripts/lib.ps1"
        $data = $fakeData | ConvertTo-Json -Depth 20 | ConvertFrom-Json
        $data.watch.sickRounds = 0
        if ($case.how -eq 'no group') { $data.lifecycle = $null }
        if ('limit', 'no certificate' -contains $case.how) { $data.readySeconds = 1 }
        if ($case.how -eq 'no certificate') { $data.paths.certificates = "$temp/none" }
        Set-Values $fakePc @{ hooks = @(); asked = 0; hung = $case.how -eq 'HNS'; dead = 'kubelet', 'no certificate' -contains $case.how; way = 'refusal 500' }
        if ($case.how -eq 'refused') { $fakePc.call = 'POST https://autoscaling.*' }
        Remove-Item "$($data.paths.state)/ready.json" -ErrorAction SilentlyContinue
        $fakePc.programs['kubectl.exe'] = {
            $answer = $case.answers[[Math]::Min($fakePc.asked, $case.answers.Count - 1)]
            $fakePc.asked += 1
            if ($answer -eq 'refused') { throw 'kubectl ended with 1: connection refused' }
            $answer
        }
        Assert-Ends { & "$scripts/wait-ready.ps1" -Machine $data } $case.error
        Set-Values $fakePc @{ hung = $false; dead = $false; call = '' }
        $fakePc.programs['kubectl.exe'] = $fakeKubectl
        Assert-Equal @($fakePc.asked, $fakePc.hooks.Count) @($case.asked, $case.hooks)
        # It was Ready once, whatever its group answers.
        Assert-Equal (Test-Path "$($data.paths.state)/ready.json") ($case.answers[-1] -like '*;Ready=True;' -or $case.answers -eq 'Ready=True;')
    }
}
Test 'HNS that hangs before the node was Ready once is started again' {
    Remove-Item "$($fakeData.paths.state)/ready.json"
    Remove-Item $fakeData.network.conflist
    $fakePc.hung = $true
    Assert-Ready
    Assert-True ($fakePc.ran -contains 'network')
}
# What a boot has made, but for logs and what only says where: each may be whole, gone, empty or of NULs. A file of the
# payload and its template, which it is made of, are not both torn.
$made = @(Get-ChildItem -Recurse -File "$drive/fenestra", "$drive/etc", "$drive/var/lib", "$drive/opt", "$drive/ProgramData" |
    Where-Object { $_.FullName -notmatch '/templates/|/own/|repairs\.json|secret-patterns|machine\.json|bootstrap-kubelet\.conf$|net-conf|trust|hosts\.toml$' -or $fakeData.credentials.files.path -contains $_.FullName } |
    ForEach-Object { $_.FullName } | Sort-Object)
foreach ($turn in 0, 1, 2, 3) {
    Test "boot $turn, of files torn in other ways than their neighbours" {
        $torn = @{}
        foreach ($path in $made) { $torn[$path] = ($torn.Count + $turn) % 4 }
        foreach ($path in @($made | Where-Object { (Test-Path $_) -and -not ("$($torn["$_.template"])" -match '[012]') })) {
            switch ($torn[$path]) {
                0 { Remove-Item -Force $path }
                1 { [IO.File]::WriteAllText($path, '') }
                2 { [IO.File]::WriteAllBytes($path, (New-Object byte[] (New-Object IO.FileInfo $path).Length)) }
            }
        }
        Restart-Fake
        if (($code = Invoke-Boot) -eq 3010) {
            Restart-Fake
            $code = Invoke-Boot
        }
        Assert-Equal @($code, (Test-FakeReady)) @(0, $true)
    }
}
Complete-Tests
