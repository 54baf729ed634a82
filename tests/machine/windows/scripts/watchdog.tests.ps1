# The watchdog: what goes wrong after Ready is mended, once, and told.
. "$PSScriptRoot/harness.ps1"
. "$scripts/watchdog.ps1"

$node = @{ services = @{}; started = @(); network = $true; flanneld = 1; stopped = 0; healthy = $true; calls = @(); told = @(); start = @{}; locked = $false; repaired = 0 }
function Write-Log {
    param(
        [string] $Message
    )
}
function Write-Notice {
    param(
        [string] $Message,
        [string] $Kind
    )
    $node.told += $Message
}
function Get-Service {
    param(
        [string] $Name
    )
    if ($node.services.ContainsKey($Name)) {
        New-Object PSObject -Property @{ Name = $Name; Status = $node.services[$Name] }
    }
}
function Set-Service {
    param(
        [string] $Name,
        [string] $StartupType
    )
    $node.start[$Name] = $StartupType
}
function Start-Service {
    param(
        [string] $Name
    )
    if ($node.start[$Name] -eq 'Disabled') {
        throw "service $Name is disabled"
    }
    $node.started += $Name
    $node.calls += "start $Name"
    $node.services[$Name] = 'Running'
}
# In place of the lock between processes: held by a run, or free.
function Invoke-Alone {
    param(
        [string] $Lock,
        [int] $Milliseconds,
        [scriptblock] $Body
    )
    Assert-Equal @($Lock, $Milliseconds) @('run', 0)
    if ($node.locked) {
        return $false
    }
    & $Body | Out-Null
    $true
}
function Stop-Service {
    param(
        [string] $Name,
        [switch] $Force
    )
    $node.calls += "stop $Name"
    $node.services[$Name] = 'Stopped'
}
function Get-Process {
    param(
        [string] $Name
    )
    if ($node.flanneld -gt 0) {
        New-Object PSObject -Property @{ Name = $Name }
    }
}
function Stop-Process {
    param(
        [Parameter(ValueFromPipeline = $true)]
        [object] $InputObject,
        [switch] $Force
    )
    process {
        $node.stopped += 1
        $node.calls += "end $($InputObject.Name)"
    }
}
function Get-HnsNetworkNamed {
    param(
        [string] $Name
    )
    if ($node.network) {
        @{ Name = $Name }
    }
}
function Invoke-RestMethod {
    param(
        [string] $Uri,
        [int] $TimeoutSec,
        [switch] $UseBasicParsing
    )
    if (-not $node.healthy) {
        throw 'no answer'
    }
    'ok'
}
$machine = ConvertTo-Data @{ network = @{ name = 'flannel.4096' }; watch = @{ lostRounds = 2; sickRounds = 3; kubeletHealth = 'http://127.0.0.1:10248/healthz' } }

Test 'services that stopped are started, running and missing ones are left alone' {
    $node.services = @{ containerd = 'Stopped'; kubelet = 'Running' }
    Repair-Services
    Assert-Equal $node.started @('containerd')
    $node.services.Remove('kubelet')
    Repair-Services
    Assert-Equal $node.started @('containerd')
    Assert-Equal $node.told.Count 1
}
Test 'a service that a stage left held, cut off later, is started all the same' {
    $node.started = @()
    $node.services = @{ containerd = 'Stopped'; kubelet = 'Stopped' }
    $node.start = @{ containerd = 'Disabled'; kubelet = 'Disabled' }
    Repair-Services
    Assert-Equal $node.started @('containerd', 'kubelet')
    Assert-Equal @($node.start.containerd, $node.start.kubelet) @('Manual', 'Manual')
}
Test 'flanneld is restarted when its network stays away, and not before' {
    $memory = @{ lost = 0; sick = 0 }
    Repair-PodNetwork $machine $memory
    $node.network = $false
    Repair-PodNetwork $machine $memory
    Assert-Equal $node.stopped 0
    Repair-PodNetwork $machine $memory
    Assert-Equal $node.stopped 1
    Assert-Equal $memory.lost 0
}
Test 'a network that comes back in between starts the count anew; without flanneld there is nothing to restart' {
    $memory = @{ lost = 0; sick = 0 }
    $node.stopped = 0
    foreach ($there in $false, $true, $false) {
        $node.network = $there
        Repair-PodNetwork $machine $memory
    }
    $node.flanneld = 0
    Repair-PodNetwork $machine $memory
    Repair-PodNetwork $machine $memory
    Assert-Equal $node.stopped 0
}
Test 'a kubelet that does not answer is restarted after some rounds, and what is left of it is ended first' {
    $memory = @{ lost = 0; sick = 0 }
    $node.healthy = $false
    $node.flanneld = 1
    $node.calls = @()
    Repair-Kubelet $machine $memory
    Repair-Kubelet $machine $memory
    Assert-Equal $node.calls @()
    Repair-Kubelet $machine $memory
    Assert-Equal $node.calls @('stop kubelet', 'end kubelet', 'start kubelet')
    Assert-Equal $memory.sick 0
}
Test 'a log over its limit is kept once and emptied under the hands of who writes it, a smaller one is left alone' {
    $path = "$temp/containerd.log"
    Limit-Log $path 10
    $writer = [IO.File]::Open($path, 'Append', 'Write', 'ReadWrite')
    try {
        foreach ($text in 'short', 'and long enough') {
            $bytes = [Text.Encoding]::ASCII.GetBytes($text)
            $writer.Write($bytes, 0, $bytes.Length)
            $writer.Flush()
            Limit-Log $path 10
            if ($text -eq 'short') {
                Assert-Equal (Test-Path "$path.1") $false
            }
        }
    }
    finally {
        $writer.Close()
    }
    Assert-Equal (Get-Content -Raw -LiteralPath "$path.1") 'shortand long enough'
    Assert-Equal (Get-Item -LiteralPath $path).Length 0
}
Test 'what a stage stopped is left alone while a run is at work, and looked after again behind it' {
    function Test-Settled {
        $true
    }
    function Get-Termination {
    }
    $node.started = @()
    $node.services = @{ containerd = 'Stopped' }
    $node.start = @{}
    $node.healthy = $true
    $node.network = $true
    function Repair-Routes {
    }
    $due = ConvertTo-Data @{ network = @{ name = 'flannel.4096'; routes = @() }; watch = @{ repairEvery = 1; lostRounds = 2; sickRounds = 3; containerdLog = @{ path = "$temp/none.log"; bytes = 10 }; kubeletHealth = 'http://127.0.0.1:10248/healthz' } }
    $node.locked = $true
    Invoke-Round $due 'boot-1' @{ round = 0; lost = 0; sick = 0 } | Out-Null
    Assert-Equal $node.started @()
    $node.locked = $false
    Invoke-Round $due 'boot-1' @{ round = 0; lost = 0; sick = 0 } | Out-Null
    Assert-Equal $node.started @('containerd')
}
Test 'stages that are not through are not mended into' {
    function Test-Settled {
        $false
    }
    function Get-Termination {
    }
    $node.started = @()
    $node.services = @{ containerd = 'Stopped' }
    Invoke-Round (ConvertTo-Data @{ watch = @{ repairEvery = 1 } }) 'boot-1' @{ round = 0 } | Out-Null
    Assert-Equal $node.started @()
}
Test 'a repair that fails does not keep the watchdog from asking the cloud' {
    function Test-Settled {
        $true
    }
    function Invoke-Repairs {
        throw 'HNS does not answer'
    }
    function Get-Termination {
        $node.asked = $true
    }
    $due = ConvertTo-Data @{ watch = @{ repairEvery = 1 } }
    Assert-Equal (Invoke-Round $due 'boot-1' @{ round = 0 }) $false
    Assert-Equal $node.asked $true
}
Complete-Tests
