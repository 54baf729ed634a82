# What only a real Windows can tell: the cmdlets, programs, keys and services that the other tests fake. For an
# administrator of a machine that has HNS, such as a runner of GitHub; nothing stays.
. "$PSScriptRoot/harness.ps1"
foreach ($name in 'lib.ps1', 'state.ps1', 'services.ps1', 'routes.ps1', 'hns.ps1', 'task.ps1', 'fetch-files.ps1') {
    . "$scripts/$name"
}
. "$scripts/run.ps1"

# A program that runs for a minute, from a file of its own.
function Start-Copy {
    Copy-Item -Force -LiteralPath "$env:SystemRoot\System32\PING.EXE" -Destination "$temp/fenestra-ping.exe"
    Start-Process -FilePath "$temp/fenestra-ping.exe" -ArgumentList '-n', '60', '127.0.0.1' -PassThru -WindowStyle Hidden
}
function Stop-Copy { Get-Process -Name fenestra-ping -ErrorAction SilentlyContinue | Stop-Process -Force -ErrorAction SilentlyContinue }

Test 'a task that must come back has an endless trigger, and no second instance' {
    try {
        Register-StartTask 'fenestra-smoke' 'C:\fenestra\none.ps1' 5
        $task = Get-ScheduledTask -TaskName 'fenestra-smoke'
        Assert-Equal @($task.Triggers).Count 2
        $repeated = @($task.Triggers | Where-Object { "$($_.Repetition.Interval)" })
        Assert-Equal @($repeated.Count, "$($repeated[0].Repetition.Interval)", "$($repeated[0].Repetition.Duration)") @(1, 'PT5M', '')
        Assert-Equal @("$($task.Settings.MultipleInstances)", "$($task.Settings.ExecutionTimeLimit)", "$($task.Principal.UserId)") @('IgnoreNew', 'PT0S', 'SYSTEM')
        # As the health task knows it.
        Assert-Equal "$($task.State)" 'Ready'
    }
    finally {
        Unregister-ScheduledTask -TaskName 'fenestra-smoke' -Confirm:$false -ErrorAction SilentlyContinue
    }
}
Test 'a program is ended by its file, a process with its children' {
    try {
        $process = Start-Copy
        Stop-Program "$temp/fenestra-ping.exe"
        Assert-True $process.WaitForExit(10000)
        $parent = Start-Process -FilePath 'cmd.exe' -ArgumentList '/c', "`"$temp\fenestra-ping.exe`" -n 60 127.0.0.1" -PassThru -WindowStyle Hidden
        Wait-Until { Get-Process -Name fenestra-ping -ErrorAction SilentlyContinue } 10 'the child' 1
        Stop-Tree $parent
        Assert-True $parent.HasExited
        Wait-Until { -not (Get-Process -Name fenestra-ping -ErrorAction SilentlyContinue) } 10 'the child to end' 1
    }
    finally {
        Stop-Copy
    }
}
Test 'a route is made for this boot, and a right one left alone' {
    # RFC 5737, TEST-NET-2: nobody is there.
    $prefix = '198.51.100.7/32'
    try {
        Assert-Equal @(Repair-Routes @($prefix)) @($prefix)
        Assert-Equal @(Get-NetRoute -DestinationPrefix $prefix -PolicyStore ActiveStore).Count 1
        Assert-Equal @(Get-NetRoute -DestinationPrefix $prefix -PolicyStore PersistentStore -ErrorAction SilentlyContinue).Count 0
        Assert-Equal @(Repair-Routes @($prefix)) @()
    }
    finally {
        Remove-NetRoute -DestinationPrefix $prefix -Confirm:$false -ErrorAction SilentlyContinue
    }
}
Test 'a service is held, and starts again' {
    Stop-NodeService w32time
    Assert-Throws { Start-Within w32time } '.'
    Assert-Equal "$((Get-Service w32time).Status)" 'Stopped'
    Set-Service w32time -StartupType Manual
    Start-Within w32time
    Assert-Equal "$((Get-Service w32time).Status)" 'Running'
}
Test 'a folder is for system and administrators, and a boot has one id' {
    Protect-Folder "$temp/closed"
    Assert-Equal @((Get-Acl -Path "$temp/closed").Access | ForEach-Object { "$($_.IdentityReference)" } | Sort-Object) @('BUILTIN\Administrators', 'NT AUTHORITY\SYSTEM')
    try {
        Assert-Equal (Get-BootId) (Get-BootId)
    }
    finally {
        Remove-Item -Recurse -Path 'HKLM:\SOFTWARE\fenestra-boot'
    }
}
Test 'an event is written' {
    $text = "smoke $([Guid]::NewGuid())"
    Write-Event $text 'Warning'
    Assert-Equal @(Get-WinEvent -MaxEvents 50 -FilterHashtable @{ LogName = 'Application'; ProviderName = 'fenestra' } | Where-Object { $_.Message -like "*$text*" }).Count 1
}
Test 'HNS answers, and a call that takes too long is given up' {
    Set-Service -Name hns -StartupType Automatic
    Start-Service -Name hns
    Wait-Until { try { Invoke-Hns GET '/networks/' | Out-Null; $true } catch { $false } } 60 'HNS to answer'
    Assert-Throws { Invoke-Hns GET '/networks/' '' 0 } '^HNS GET /networks/: no answer within 0 ms$'
    Invoke-Hns GET '/networks/'
}
Complete-Tests
