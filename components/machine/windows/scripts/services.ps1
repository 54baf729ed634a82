# Services: stopped and started within a limit; containerd and kubelet are held while a stage works, and restored when
# they fail.

# Stops a service: asks, waits, then ends its process. `Stop-Service` has no limit while a service says that it is
# stopping, and does not end one that ignores the request. A process that other services share stays.
function Stop-Within {
    param([string] $Name, [int] $Seconds = 30)
    $service = Get-Service -Name $Name -ErrorAction SilentlyContinue
    if (-not $service -or "$($service.Status)" -eq 'Stopped') {
        return
    }
    $id = 0
    try {
        $id = (Get-CimInstance Win32_Service -Filter "Name='$Name'" -OperationTimeoutSec 30).ProcessId
        $service.Stop()
        $service.WaitForStatus('Stopped', [TimeSpan]::FromSeconds($Seconds))
    }
    catch {
        Write-Log "service $Name does not stop: $($_.Exception.GetBaseException().Message)"
        if ($id -and @(Get-CimInstance Win32_Service -Filter "ProcessId=$id" -OperationTimeoutSec 30).Count -eq 1) {
            Stop-Process -Force -Id $id -ErrorAction SilentlyContinue
        }
    }
    # The kubelet is a child of its service: a hung one would keep the ports from the next.
    Get-Process -Name $Name -ErrorAction SilentlyContinue | Stop-Process -Force -ErrorAction SilentlyContinue
    $service.WaitForStatus('Stopped', [TimeSpan]::FromSeconds(10))
}

# Starts a service and waits until it runs; `Start-Service` waits without a limit.
function Start-Within {
    param([string] $Name, [int] $Seconds = 60)
    $service = Get-Service -Name $Name
    if ('Running', 'StartPending' -notcontains "$($service.Status)") {
        $service.Start()
    }
    $service.WaitForStatus('Running', [TimeSpan]::FromSeconds($Seconds))
}

# Ends HNS, which may hang, and starts it; with -Empty without what it remembers.
function Restart-Hns {
    param([switch] $Empty)
    try {
        Stop-Within hns
        if ($Empty) {
            Remove-Item -Force -LiteralPath "$env:ProgramData/Microsoft/Windows/HNS/HNS.data" -ErrorAction SilentlyContinue
        }
    }
    finally {
        Start-Within hns
    }
}

# Stops services on purpose. A restart already scheduled by the service manager would undo that, but it does not start a
# disabled service.
function Stop-NodeService {
    param([string[]] $Names)
    foreach ($name in $Names) {
        if (Get-Service -Name $name -ErrorAction SilentlyContinue) {
            Set-Service -Name $name -StartupType Disabled
            Stop-Within $name
        }
    }
}

# Starts a service, even a held one. On demand and not at boot: no container may start before this boot's network
# exists.
function Start-NodeService {
    param([string] $Name)
    Set-Service -Name $Name -StartupType Manual
    Start-Within $Name
    if ($Name -eq 'containerd') {
        Set-Priority $Name
    }
}

# Raises a program's priority above the pods, which could starve it otherwise, as AKS does with containerd
# (Azure/AgentBaker, containerdfunc.ps1). The kubelet does it itself with a flag. Processes started by containerd have
# normal priority.
function Set-Priority {
    param([string] $Name)
    try {
        foreach ($process in @(Get-Process -Name $Name -ErrorAction SilentlyContinue)) {
            if ("$($process.PriorityClass)" -ne 'AboveNormal') {
                $process.PriorityClass = 'AboveNormal'
            }
        }
    }
    catch {
        Write-Log "priority of ${Name}: $_"
    }
}

# Recovery: a service whose process crashes is restarted, and so is one that stops with an error. An orderly stop exits
# with 0 and is final. Windows applies the second setting at its next start (Win32: SERVICE_FAILURE_ACTIONS_FLAG); until
# then the health task covers it.
function Set-Recovery {
    param([string] $Name, [string[]] $Actions)
    Invoke-Program 'sc.exe' (@('failure', $Name) + $Actions) | Out-Null
    Invoke-Program 'sc.exe' @('failureflag', $Name, '1') | Out-Null
}
