# Services: stopped and started within a limit; containerd and kubelet are held while a stage works, and restored when
# they fail.

# Services whose field has a value, by WMI.
function Get-ServiceRecord {
    param([string] $Filter)
    Invoke-Wmi { Get-CimInstance Win32_Service -Filter $Filter -CimSession $wmi -ErrorAction Stop }
}

# A service's process. WMI may name none, as between two starts: that is an error and no change.
function Get-ServiceProcess {
    param([string] $Name)
    $id = (Get-ServiceRecord "Name='$Name'").ProcessId
    if (-not $id) {
        throw "WMI names no process of the service $Name"
    }
    $id
}

# Stops a service: asks, waits, then ends its process. `Stop-Service` has no limit while a service says that it is
# stopping, and does not end one that ignores the request. A process that other services share stays.
function Stop-Within {
    param([string] $Name, [int] $Seconds = 30)
    $service = Get-Service -Name $Name -ErrorAction SilentlyContinue
    $runs = $service -and "$($service.Status)" -ne 'Stopped'
    if ($runs) {
        try {
            $service.Stop()
            $service.WaitForStatus('Stopped', [TimeSpan]::FromSeconds($Seconds))
        }
        catch {
            Write-Log "service $Name does not stop: $($_.Exception.GetBaseException().Message)"
            try {
                $id = Get-ServiceProcess $Name
                if ("$((Get-ServiceRecord "ProcessId=$id").Name)" -eq $Name) {
                    Stop-Process -Force -Id $id -ErrorAction SilentlyContinue
                }
            }
            catch {
                Write-Log "$_"
            }
        }
    }
    # The kubelet is a child of its service and may outlive it: it would keep the ports from the next.
    Get-Process -Name $Name -ErrorAction SilentlyContinue | Stop-Process -Force
    if ($runs) {
        $service.WaitForStatus('Stopped', [TimeSpan]::FromSeconds(10))
    }
}

# Starts a service and waits until it runs; `Start-Service` waits without a limit. Never a second process beside one that
# its service has left behind.
function Start-Within {
    param([string] $Name, [int] $Seconds = 60)
    $service = Get-Service -Name $Name
    if ('Running', 'StartPending' -notcontains "$($service.Status)") {
        for ($look = 1; @(Get-Process -Name $Name -ErrorAction SilentlyContinue).Count -gt 0; $look += 1) {
            if ($look -gt 10) {
                throw "a process $Name of before does not end"
            }
            Start-Sleep -Milliseconds 500
        }
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
# exists. How Windows starts HNS is its own affair.
function Start-NodeService {
    param([string] $Name)
    if ($Name -ne 'hns') {
        Set-Service -Name $Name -StartupType Manual
    }
    Start-Within $Name
    if ($Name -eq 'containerd') {
        Set-Priority $Name
    }
}

# Ends a service, and starts it, also where it has not ended in time.
function Restart-NodeService {
    param([string] $Name)
    try {
        Stop-Within $Name
    }
    finally {
        Start-NodeService $Name
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
    Invoke-Program 'sc.exe' (@('failure', $Name) + $Actions) -Seconds 60 | Out-Null
    Invoke-Program 'sc.exe' @('failureflag', $Name, '1') -Seconds 60 | Out-Null
}

# What containerd does not start without, and only the payload had: kept beside it, and put back where it is gone or torn.
function Restore-Config {
    param($Machine)
    $path = $Machine.paths.containerdConfig
    try {
        $text = Read-Text $path
        if (-not $text) {
            Write-Notice "$path is gone or torn; it is written again" 'Warning'
            Write-Text $path (Read-Text "$path.template" -Needed)
        }
        elseif (-not (Read-Text "$path.template")) {
            Write-Text "$path.template" $text
        }
    }
    catch {
        Write-Log "$_"
    }
}

# A service that is stopped, or for some rounds neither stopped nor running; for some rounds too where stages are still to
# be done that start it. Recovery actions do not cover an orderly stop.
function Repair-Service {
    param($Machine, [hashtable] $Memory, [string] $Name)
    $status = "$((Get-Service -Name $Name -ErrorAction SilentlyContinue).Status)"
    if (-not $status) {
        throw 'nobody says whether it runs'
    }
    $rounds = $Machine.watch.sickRounds
    if ($status -eq 'Stopped' -and -not $Memory.building) {
        $rounds = 1
    }
    if (Test-Sick $Memory "service $Name" $rounds { if ($status -ne 'Running') { throw $status } }) {
        Write-Notice "service $Name is $status; starting it" 'Warning'
        Stop-Within $Name
        if ($Name -eq 'containerd') {
            Restore-Config $Machine
        }
        Start-NodeService $Name
    }
}

# True when a check has failed for some rounds. The count then starts over, for twice as many rounds each time, up to
# sixteen times as many, until the check succeeds again: a restart that does not help is not repeated for ever. A
# program that answers 503 is at work and behind, as kube-proxy is while HNS is slow (kubernetes/kubernetes#110674): it
# has six times as long, since a restart would take every load balancer away first.
function Test-Sick {
    param([hashtable] $Memory, [string] $Name, [int] $Rounds, [scriptblock] $Check)
    try {
        & $Check | Out-Null
        $Memory[$Name] = 0
        $Memory["deeds $Name"] = 0
        return $false
    }
    catch {
        # A program of ours that cannot even run says nothing of whom it was to ask.
        if ("$_" -like 'program *') {
            throw
        }
        $Memory[$Name] += $(if ("$_" -like '* answered with 503') { 1 / 6 } else { 1 })
    }
    if ($Memory[$Name] -lt $Rounds * [Math]::Pow(2, [Math]::Min(4, [int] $Memory["deeds $Name"]))) {
        return $false
    }
    $Memory[$Name] = 0
    $Memory["deeds $Name"] += 1
    $true
}
