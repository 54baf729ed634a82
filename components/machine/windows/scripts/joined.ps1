# Joined: what the API says of this machine's node, and the port that tells it to the cloud.
. "$PSScriptRoot/identity.ps1"

# Whether the node is Ready, asked with the kubelet's own certificate. An API that cannot be reached is no error: the
# kubelet may still wait for its certificate.
function Test-NodeReady {
    param([object] $Machine, [string] $Name)
    # No quotes: Windows PowerShell drops them when it passes arguments to a program.
    $path = '{range .status.conditions[*]}{.type}={.status};{end}'
    try {
        $answer = Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'get', 'node', $Name, '-o', "jsonpath=$path") -Seconds 15
        "$answer" -split ';' -contains 'Ready=True'
    }
    catch {
        $false
    }
}

# The name of this machine's node once there may be one, then kept; empty before. The file may be torn, or of the
# machine that an image was made of.
function Get-OwnNode {
    param([object] $Machine, [hashtable] $Memory)
    if (-not (Test-Path -LiteralPath $Machine.paths.kubeconfig) -or -not (Test-Path -LiteralPath $Machine.programs.kubectl)) {
        return ''
    }
    if (-not $Memory.node) {
        $CallsEnd = New-Deadline 10
        try {
            $Memory.node = Get-NodeName $Machine.cloud
        }
        catch {
            return "$((Read-Data $Machine.paths.node).name)"
        }
    }
    $Memory.node
}

# Writes on this machine's own Node which duties have failed, nothing where none has, and every few minutes that rounds
# end: `fenestra verify` and the node controller compare that with the kubelet's own times.
function Send-Beat {
    param([object] $Machine, [hashtable] $Memory)
    # Not what this itself could not write.
    $failed = @($Memory.Keys | Where-Object { $_ -like 'failed *' -and $_ -ne 'failed report' } | ForEach-Object { $_ -replace '^failed ', '' } | Sort-Object) -join ','
    $name = Get-OwnNode $Machine $Memory
    if (-not $name -or ($Memory.told -eq $failed -and (Get-Left $Memory.beat) -gt 0)) {
        return
    }
    $words = @("fenestra.dev/failed=$failed" -replace '=$', '-') + "fenestra.dev/beat=$('{0:s}Z' -f [DateTime]::UtcNow)"
    Invoke-Program $Machine.programs.kubectl (@('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'annotate', 'node', $name, '--overwrite') + $words) -Seconds 15 | Out-Null
    $Memory.told = $failed
    $Memory.beat = New-Deadline $Machine.watch.beatSeconds
}

# The health port, to this machine alone: open while its own node is Ready; the kubelet's is open whether it has joined
# or not. A moment in which the node is not Ready, or nobody says, closes nothing. Windows answers the connections; a
# round takes them off its queue.
function Set-HealthPort {
    param([object] $Machine, [hashtable] $Memory)
    $name = Get-OwnNode $Machine $Memory
    $Memory.isReady = $name -and (Test-NodeReady $Machine $name)
    if ($Memory.isReady) {
        $Memory.ready = [Diagnostics.Stopwatch]::StartNew()
        if (-not $Memory.port) {
            $port = New-Object Net.Sockets.TcpListener ([Net.IPAddress]::Loopback), $Machine.watch.healthPort
            $port.Start()
            $Memory.port = $port
        }
    }
    elseif ($Memory.port -and $Memory.ready.Elapsed.TotalSeconds -ge $Machine.watch.healthPatience) {
        $Memory.port.Stop()
        $Memory.port = $null
        Write-Notice "node $name is no longer Ready; the health port is closed" 'Warning'
    }
    while ($Memory.port -and $Memory.port.Pending()) {
        $Memory.port.AcceptTcpClient().Close()
    }
}
