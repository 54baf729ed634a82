# Joined: what the API says of this machine's node, and the port that tells it to the cloud.

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

# Writes on this machine's own Node which duties have failed, where `fenestra verify` sees them; nothing where none has.
function Send-Failed {
    param([object] $Machine, [hashtable] $Memory)
    $failed = @($Memory.Keys | Where-Object { $_ -like 'failed *' } | ForEach-Object { $_ -replace '^failed ', '' } | Sort-Object) -join ','
    $name = (Read-Data $Machine.paths.node).name
    if ($Memory.told -eq $failed -or -not $name) {
        return
    }
    $words = "fenestra.dev/failed=$failed" -replace '=$', '-'
    Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'annotate', 'node', $name, '--overwrite', $words) -Seconds 15 | Out-Null
    $Memory.told = $failed
}

# The health port, to this machine alone: open while its own node is Ready; the kubelet's is open whether it has joined
# or not. A moment in which the node is not Ready, or nobody says, closes nothing. Windows answers the connections; a
# round takes them off its queue.
function Set-HealthPort {
    param([object] $Machine, [hashtable] $Memory)
    $name = (Read-Data $Machine.paths.node).name
    if ($name -and (Test-NodeReady $Machine $name)) {
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
