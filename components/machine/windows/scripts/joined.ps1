# Joined: what the API says of this machine's node, and the port that tells it to the cloud.
. "$PSScriptRoot/identity.ps1"

# Whether the node is Ready, asked with the kubelet's own certificate; nothing where nobody says. An API that cannot be
# reached is no error: the kubelet may still wait for its certificate.
function Test-NodeReady {
    param($Machine, [string] $Name)
    # No quotes: Windows PowerShell drops them when it passes arguments to a program.
    $path = '{range .status.conditions[*]}{.type}={.status};{end}'
    try {
        $answer = Invoke-Program $Machine.programs.kubectl @('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'get', 'node', $Name, '-o', "jsonpath=$path") -Seconds 15
        if ("$answer" -match '(^|;)Ready=(True|False)(;|$)') {
            $Matches[2] -eq 'True'
        }
    }
    catch {
        Write-Verbose "$_"
    }
}

# How often this machine has come up without having gone down (System log: 41 of Kernel-Power), when last, and the stop code
# of the newest blue screen (1001 of BugCheck); and of which day Defender's signatures are. Asked once a day; what does not
# answer is no part of it.
function Get-Traces {
    param($Machine, [hashtable] $Memory)
    if ($Memory.traces -and (Get-Left $Memory.traces.until) -gt 0) {
        return $Memory.traces.words
    }
    $words = @()
    try {
        # An image's own events are older.
        $made = '{0:s}Z' -f [IO.Directory]::GetCreationTimeUtc($Machine.paths.state)
        $query = "*[System[TimeCreated[@SystemTime>='$made'] and ((EventID=41 and Provider[@Name='Microsoft-Windows-Kernel-Power']) or (EventID=1001 and Provider[@Name='Microsoft-Windows-WER-SystemErrorReporting']))]]"
        $text = "$(Invoke-Program 'wevtutil.exe' @('qe', 'System', "/q:$query", '/c:200', '/rd:true', '/f:xml') -Seconds 60)"
        $word = 'fenestra.dev/crashes-'
        if ($text -match "(?s)<EventID[^>]*>41<.*?SystemTime=.([\dT:-]{19})") {
            $word = "fenestra.dev/crashes=$([Regex]::Matches($text, '<EventID[^>]*>41<', 'CultureInvariant').Count), last $($Matches[1])Z"
            if ($text -match '(?s)<EventID[^>]*>1001<.*?<Data[^>]*>(0x[0-9a-f]{8})') {
                $word += ", stop $($Matches[1])"
            }
        }
        $words += $word
    }
    catch {
        Write-Log "crashes: $_"
    }
    try {
        $defender = Invoke-Wmi { Get-CimInstance -Namespace 'root/Microsoft/Windows/Defender' -ClassName MSFT_MpComputerStatus -CimSession $wmi -ErrorAction Stop }
        $words += 'fenestra.dev/signatures=' + ('{0:s}' -f [DateTime] $defender.AntivirusSignatureLastUpdated).Substring(0, 10)
    }
    catch {
        # It may be uninstalled.
        Write-Log "signatures: $_"
    }
    $Memory.traces = @{ words = $words; until = New-Deadline 86400 }
    $words
}

# Writes on this machine's own Node which duties have failed, nothing where none has, and every few minutes that rounds
# end, with its traces: `fenestra verify` and the node controller compare that with the kubelet's own times.
function Send-Beat {
    param($Machine, [hashtable] $Memory)
    # Not what this itself could not write.
    $failed = @($Memory.Keys | Where-Object { $_ -like 'failed *' -and $_ -ne 'failed report' } | ForEach-Object { $_ -replace '^failed ', '' } | Sort-Object) -join ','
    $name = ''
    if (Test-Joined $Machine) {
        $name = Get-OwnName $Machine $Memory
    }
    if (-not $name -or ($Memory.told -eq $failed -and (Get-Left $Memory.beat) -gt 0)) {
        return
    }
    $words = @("fenestra.dev/failed=$failed" -replace '=$', '-') + "fenestra.dev/beat=$('{0:s}Z' -f [DateTime]::UtcNow)" + @(Get-Traces $Machine $Memory)
    Invoke-Program $Machine.programs.kubectl (@('--kubeconfig', $Machine.paths.kubeconfig, '--request-timeout', '10s', 'annotate', 'node', $name, '--overwrite') + $words) -Seconds 15 | Out-Null
    $Memory.told = $failed
    $Memory.beat = New-Deadline $Machine.watch.beatSeconds
}

# The health port, to this machine alone: open while its own node is Ready; the kubelet's is open whether it has joined
# or not. A moment in which the node is not Ready, or nobody says, closes nothing. Windows answers the connections; a
# round takes them off its queue.
function Set-HealthPort {
    param($Machine, [hashtable] $Memory)
    $Memory.isReady = $null
    if (Test-Joined $Machine) {
        $Memory.isReady = Test-NodeReady $Machine (Get-OwnName $Machine $Memory)
    }
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
        Write-Notice "node $($Memory.node) is no longer Ready; the health port is closed" 'Warning'
    }
    while ($Memory.port -and $Memory.port.Pending()) {
        $Memory.port.AcceptTcpClient().Close()
    }
}
