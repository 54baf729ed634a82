# The services containerd and kubelet: held while a stage works, started again, brought back when they fail.

# Stops services on purpose. A restart that the service manager has planned already would undo it; a disabled service it does not start.
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

# Starts a service, also one that was held. By demand and not at boot: no container may start before this boot's network is made.
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

# Raises a program above the pods, which may take every cycle otherwise, as AKS does with containerd (Azure/AgentBaker, containerdfunc.ps1). The
# kubelet does it itself by a flag. What containerd starts has the priority of any program.
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

# Recovery: a service whose process ends without a word is started again, and so is one that stops with an error. One that is stopped in
# order ends with 0 and stays. Windows takes the second setting up at its next start (Win32: SERVICE_FAILURE_ACTIONS_FLAG); until then
# the health task stands in.
function Set-Recovery {
    param(
        [string] $Name,
        [string[]] $Actions
    )
    Invoke-Program 'sc.exe' (@('failure', $Name) + $Actions) | Out-Null
    Invoke-Program 'sc.exe' @('failureflag', $Name, '1') | Out-Null
}
