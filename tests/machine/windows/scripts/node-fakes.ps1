# A Windows node in a few lines, for the tests of the health task and of services. Each call goes by Invoke-Call, where
# a test spoils it.
$fakeNode = @{}
. "$PSScriptRoot/log-fake.ps1"

# A node on which all is well, with `deeds` done to it, by name.
function Reset-Node {
    Set-Values $fakeNode @{
        call = ''; way = ''; over = $false; time = 0; deeds = @(); fail = ''; locked = $false; state = 'up'; due = @(); told = @{}
        services = @{}; processes = @('flanneld', 'kube-proxy'); task = 'Running'; ready = $true; status = 200; route = $true
        networks = @(@{ ID = 'n1'; Name = 'flannel.4096' }); policylists = @(@{ ID = 'p1' }); held = @(); asked = @{}
        sandboxes = [ordered] @{ a = '10.244.3.4'; host = ''; b = '10.244.3.5' }
    }
    $fakeNotices.told = @()
    foreach ($name in 'hns', 'containerd', 'kubelet') { $fakeNode.services[$name] = @{ start = 'Manual'; status = 'Running'; id = 100 * $fakeNode.services.Count + 100 } }
    $fakeNode.processes += 'kubelet'
}
function Add-Deed {
    param($Deed)
    if ($fakeNode.over) { return }
    if ($fakeNode.fail -and $Deed -like $fakeNode.fail) { throw "made to fail: $Deed" }
    $fakeNode.deeds += $Deed
}
# One call from outside: as it is, or spoilt. With a limit a call that hangs ends as an error, else its process is ended
# from outside: `over`, and nothing happens any more. A deed, or the kernel's list of processes, is never half.
function Invoke-Call {
    param($Call, $Body, $Limit = 0, [switch] $Sure)
    if ($fakeNode.over) { return }
    # The ways in which it may be spoilt.
    $fakeNode.asked[$Call] = @('hangs', 'throws', 'slow')
    if (-not $Sure) { $fakeNode.asked[$Call] += 'nothing', 'empty' }
    if ($fakeNode.call -eq $Call) {
        switch ($fakeNode.way) {
            'hangs' {
                $fakeNode.time += $Limit
                if ($Limit) { throw "$Call has not ended within $Limit s" }
                $fakeNode.over = $true
            }
            'throws' { throw "$Call is made to fail" }
            'nothing' { if (-not $Sure) { return } }
            'empty' { if (-not $Sure) { return New-Object PSObject } }
            'slow' { $fakeNode.time += 60 }
        }
        if ($fakeNode.over) { break 'alive' }
    }
    & $Body
}
function New-Deadline {
    param($Seconds)
    @{ end = $fakeNode.time + $Seconds }
}
function Get-Left {
    param($Deadline, $AtMost = 86400)
    [Math]::Max(0, [Math]::Min($AtMost, $Deadline.end - $fakeNode.time))
}
function Start-Sleep { $fakeNode.time += 1 }
function New-CimSession { Invoke-Call 'New-CimSession' { 'session' } }
function Remove-CimSession { }
# As the service manager: a disabled service does not start, and a child outlives its service. One may ignore the
# request to stop, or go on stopping, until its process is ended.
function Get-Service {
    param($Name)
    Invoke-Call 'Get-Service' {
        if (-not $fakeNode.services.ContainsKey($Name)) { return }
        $found = New-Fake @{ Name = $Name } @{
            Stop          = {
                $own = $fakeNode.services[$this.Name]
                Invoke-Call 'Stop' -Sure {
                    Add-Deed "stop $($this.Name)"
                    if ($own.hangs -eq 'refuses') { throw 'the service does not accept control messages at this time' }
                    $own.status = 'StopPending'
                    if (-not $own.hangs) { $own.status = 'Stopped' }
                }
            }
            Start         = {
                $own = $fakeNode.services[$this.Name]
                Invoke-Call 'Start' -Sure {
                    if ($own.start -eq 'Disabled') { throw "service $($this.Name) is disabled" }
                    if ($fakeNode.processes -contains $this.Name) { Add-Deed "second $($this.Name)" }
                    Add-Deed "start $($this.Name)"
                    $own.status = 'Running'
                    $own.id += 7
                    if ($this.Name -eq 'kubelet') { $fakeNode.processes += 'kubelet' }
                }
            }
            WaitForStatus = {
                $wanted = $args[0]
                Invoke-Call 'WaitForStatus' -Limit $args[1].TotalSeconds {
                    if ($fakeNode.services[$this.Name].status -ne $wanted) { throw "time out: $($this.Name) is $($fakeNode.services[$this.Name].status)" }
                }
            }
        }
        $found | Add-Member ScriptProperty Status { $fakeNode.services[$this.Name].status }
        $found
    }
}
function Set-Service {
    param($Name, $StartupType)
    Invoke-Call 'Set-Service' -Sure {
        $fakeNode.services[$Name].start = $StartupType
        Add-Deed "set $Name $StartupType"
    }
}
# No process of the machine that runs this test may be touched.
function Get-Process {
    param($Name)
    Invoke-Call 'Get-Process' -Sure { if ($fakeNode.processes -contains $Name) { [PSCustomObject] @{ Name = $Name; PriorityClass = 'AboveNormal' } } }
}
function Stop-Process {
    param([Parameter(ValueFromPipeline = $true)] $InputObject, $Id, [switch] $Force)
    process {
        Invoke-Call 'Stop-Process' -Sure {
            if (-not $Id -and -not $InputObject.Name) { throw 'that is no process' }
            Add-Deed "end $(if ($Id) { $Id } else { $InputObject.Name })"
            $fakeNode.processes = @($fakeNode.processes -ne $InputObject.Name)
            foreach ($own in @($fakeNode.services.Values)) { if ($own.id -eq $Id) { $own.status = 'Stopped' } }
        }
    }
}
function Get-CimInstance {
    param($ClassName, $Filter, $Namespace)
    Invoke-Call 'Get-CimInstance' {
        if ($Namespace -like '*Defender') { return $fakeNode.defender }
        foreach ($name in @($fakeNode.services.Keys)) {
            $id = $fakeNode.services[$name].id
            if ("Name='$name'", "ProcessId=$id" -contains $Filter) { [PSCustomObject] @{ Name = $name; ProcessId = $id } }
        }
    }
}
