# The services containerd and kubelet: held while a stage works, started again, restored when they fail.

# Stops services on purpose. A restart already scheduled by the service manager would undo that, but it does not start a disabled service.
function Stop-NodeService {
    param(
        [string[]] $Names
    )
    foreach ($name in $Names) {
        if (Get-Service -Name $name -ErrorAction SilentlyContinue) {
            Set-Service -Name $name -StartupType Disabled
            Stop-Service -Force -Name $name
        }
    }
}

# Starts a service, even a held one. On demand and not at boot: no container may start before this boot's network exists.
function Start-NodeService {
    param(
        [string] $Name
    )
    Set-Service -Name $Name -StartupType Manual
    Start-Service -Name $Name
    if ($Name -eq 'containerd') {
        Set-Priority $Name
    }
}

# Raises a program's priority above the pods, which could starve it otherwise, as AKS does with containerd (Azure/AgentBaker,
# containerdfunc.ps1). The kubelet does it itself with a flag. Processes started by containerd have normal priority.
function Set-Priority {
    param(
        [string] $Name
    )
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

# Recovery: a service whose process crashes is restarted, and so is one that stops with an error. An orderly stop exits with 0 and is final.
# Windows applies the second setting at its next start (Win32: SERVICE_FAILURE_ACTIONS_FLAG); until then the health task covers it.
function Set-Recovery {
    param(
        [string] $Name,
        [string[]] $Actions
    )
    Invoke-Program 'sc.exe' (@('failure', $Name) + $Actions) | Out-Null
    Invoke-Program 'sc.exe' @('failureflag', $Name, '1') | Out-Null
}
