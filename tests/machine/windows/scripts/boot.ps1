# What boot.slow.test.ts needs of Windows: a place like a cloud's, the restart that was asked for, a program that dies.
param([string] $Action, [string] $Names)
$ErrorActionPreference = 'Stop'
$folder = 'C:\fenestra-boot'

# The features that are faked, since a restart belongs to them.
$module = @'
function Get-WindowsFeature {
    param([string[]] $Name)
    foreach ($each in $Name) {
        $state = 'Available'
        if (Test-Path C:\fenestra-boot\features) { $state = "$(Get-Content C:\fenestra-boot\features)" }
        New-Object PSObject -Property @{ Name = $each; InstallState = $state }
    }
}
function Install-WindowsFeature {
    param([string[]] $Name)
    Set-Content C:\fenestra-boot\features 'InstallPending'
    Add-Content C:\fenestra-boot\installations "$Name"
    New-Object PSObject -Property @{ Success = $true; RestartNeeded = 'Yes'; ExitCode = 'SuccessRestartRequired' }
}
'@
# The task's script: the real one with the fakes in front of it.
$wrapper = @'
$env:PSModulePath = "C:\fenestra-boot\modules;$env:PSModulePath"
$env:PATH = "C:\fenestra-boot\bin;$env:PATH"
& C:\fenestra\run.ps1
exit $LASTEXITCODE
'@

# Ends everything of the machine, as a restart does.
function Stop-Machine {
    Get-ScheduledTask -TaskName 'fenestra-*' -ErrorAction SilentlyContinue | Stop-ScheduledTask
    Get-CimInstance Win32_Process | Where-Object { $_.ProcessId -ne $PID -and $_.CommandLine -match 'C:[\\/]fenestra(-boot)?[\\/][\w-]+\.ps1' } | ForEach-Object {
        Stop-Process -Force -Id $_.ProcessId -ErrorAction SilentlyContinue
    }
    foreach ($name in 'kubelet', 'containerd') {
        if (Get-Service -Name $name -ErrorAction SilentlyContinue) { Stop-Service -Force -Name $name }
    }
    Remove-Item -Recurse -Force -Path 'HKLM:\SOFTWARE\fenestra-boot' -ErrorAction SilentlyContinue
}

switch ($Action) {
    'prepare' {
        New-Item -ItemType Directory -Force -Path "$folder\modules\ServerManager" | Out-Null
        Set-Content -Path "$folder\modules\ServerManager\ServerManager.psm1" -Value $module
        Set-Content -Path "$folder\run.ps1" -Value $wrapper
        & certutil.exe -f -addstore Root "$folder\authority.pem"
        Add-Content -Path C:\Windows\System32\drivers\etc\hosts -Value ($Names -split ',' | ForEach-Object { "127.0.0.1 $_" })
        if (-not (Get-NetIPAddress -IPAddress 169.254.169.254 -ErrorAction SilentlyContinue)) {
            New-NetIPAddress -InterfaceAlias 'Loopback Pseudo-Interface 1' -IPAddress 169.254.169.254 -PrefixLength 32 -SkipAsSource $true -PolicyStore ActiveStore | Out-Null
        }
        while ("$((Get-NetIPAddress -IPAddress 169.254.169.254).AddressState)" -ne 'Preferred') {
            Start-Sleep -Milliseconds 200
        }
    }
    'restart' {
        Stop-Machine
        Remove-Item -Force -Path "$folder\restart" -ErrorAction SilentlyContinue
        if (Test-Path "$folder\features") { Set-Content -Path "$folder\features" -Value 'Installed' }
        Get-ScheduledTask -TaskName 'fenestra-*' | Start-ScheduledTask
    }
    'settle' {
        # What others have left pending on this machine is not the bake's.
        Remove-Item -Recurse -Force -Path 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending', 'HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\WindowsUpdate\Auto Update\RebootRequired' -ErrorAction SilentlyContinue
        Remove-ItemProperty -Path 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager' -Name PendingFileRenameOperations -ErrorAction SilentlyContinue
    }
    'kill' {
        do {
            Start-Sleep -Milliseconds 200
            $run = @(Get-CimInstance Win32_Process | Where-Object { $_.CommandLine -match 'fenestra-boot[\\/]run\.ps1' })
        } until ($run.Count -gt 0)
        Stop-Process -Force -Id $run[0].ProcessId
    }
    'look' {
        $rights = @('C:\fenestra\state', 'C:\var\log\fenestra' | ForEach-Object { (Get-Acl $_).Access | ForEach-Object { "$($_.IdentityReference)" } } | Sort-Object -Unique)
        @{
            services = @(Get-Service -Name 'containerd', 'kubelet' | ForEach-Object { "$($_.Name) $($_.Status)" })
            tasks    = @(Get-ScheduledTask -TaskName 'fenestra-*' | ForEach-Object { $_.TaskName } | Sort-Object)
            rights   = $rights
            hns      = "$((Get-Service -Name hns).Status)"
        } | ConvertTo-Json -Compress
    }
    'end' {
        Stop-Machine
        foreach ($name in 'kubelet', 'containerd') { & sc.exe delete $name | Out-Null }
        Get-ScheduledTask -TaskName 'fenestra-*' -ErrorAction SilentlyContinue | Unregister-ScheduledTask -Confirm:$false
        Remove-Item -Recurse -Force -Path 'C:\fenestra', 'C:\fenestra-boot', 'C:\AzureData', 'C:\var\log\fenestra', 'C:\etc\kubernetes', 'C:\var\lib\kubelet' -ErrorAction SilentlyContinue
    }
}
