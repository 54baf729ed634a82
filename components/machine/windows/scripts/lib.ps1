# Shared by every script: programs and whether they are whole, access rights, locks, waiting.
. "$PSScriptRoot/files.ps1"

# Has a file that somebody else has written on the disk, not only in Windows' cache: before a record says that it is
# there.
function Sync-File {
    param([string] $Path)
    $file = [IO.File]::Open($Path, 'Open', 'ReadWrite', 'ReadWrite, Delete')
    try {
        $file.Flush($true)
    }
    finally {
        $file.Close()
    }
}

# Whether a program is there and not the NULs that a power failure leaves.
function Test-Program {
    param([string] $Path)
    try {
        $file = [IO.File]::Open($Path, 'Open', 'Read', 'ReadWrite, Delete')
        try {
            $file.ReadByte() -gt 0
        }
        finally {
            $file.Close()
        }
    }
    catch {
        $false
    }
}

# Creates a folder that only the system and administrators may read or write, inherited by its contents. Safe to repeat.
function Protect-Folder {
    param([string] $Path)
    try {
        New-Folder $Path
        # Ten calls of icacls take a second.
        $access = ''
        if (Get-Command -Name Get-Acl -ErrorAction SilentlyContinue) {
            $access = (Get-Acl -LiteralPath $Path).Sddl
        }
        if ($access -match 'D:PA?I?\(A;OICI;FA;;;(SY|BA)\)\(A;OICI;FA;;;(SY|BA)\)$' -and $Matches[1] -ne $Matches[2]) {
            return
        }
        Invoke-Program 'icacls.exe' @($Path, '/inheritance:r', '/grant:r', '*S-1-5-18:(OI)(CI)F', '*S-1-5-32-544:(OI)(CI)F') -Seconds 60 | Out-Null
    }
    catch {
        throw "access rights of $Path not set: $_"
    }
}

# An argument of a program as Windows reads it.
function Format-Argument {
    param([string] $Text)
    if ($Text -and $Text -notmatch '[\s"]') {
        return $Text
    }
    '"' + ($Text -replace '(\\*)"', '$1$1\"' -replace '(\\+)$', '$1$1') + '"'
}

# Starts a program with its three streams to us.
function Start-Program {
    param([string] $Path, [string[]] $Arguments)
    $program = Get-Command -CommandType Application -Name $Path -ErrorAction SilentlyContinue | Select-Object -First 1
    if (-not $program) {
        throw "program $Path is missing"
    }
    $start = New-Object Diagnostics.ProcessStartInfo $program.Path
    $start.Arguments = @($Arguments | ForEach-Object { Format-Argument $_ }) -join ' '
    $start.UseShellExecute = $false
    $start.CreateNoWindow = $true
    $start.RedirectStandardInput = $true
    $start.RedirectStandardOutput = $true
    $start.RedirectStandardError = $true
    try {
        # .NET Framework begins standard input with a byte order mark where the code page is UTF-8's.
        [Console]::InputEncoding = New-Object Text.UTF8Encoding $false
    }
    catch {
        Write-Verbose "$_"
    }
    try {
        [Diagnostics.Process]::Start($start)
    }
    catch {
        throw "program $Path does not start: $($_.Exception.GetBaseException().Message)"
    }
}

# Whether a program has taken its standard input in time. One that reads nothing would hold a longer text for ever; one
# that has ended before is no error here.
function Send-Text {
    param([Diagnostics.Process] $Process, [string] $Text, [double] $Seconds)
    try {
        $bytes = [Text.Encoding]::UTF8.GetBytes($Text)
        $taken = $Process.StandardInput.BaseStream.WriteAsync($bytes, 0, $bytes.Length).Wait([int] (1000 * $Seconds))
        if ($taken) {
            $Process.StandardInput.Close()
        }
        $taken
    }
    catch {
        Write-Log "$_"
        $true
    }
}

# Runs a program and returns its stdout. A nonzero exit code is an error with stdout and stderr in its message, and so
# is one that has not ended in time. No program is called in another way: `&` waits without a limit for all that the
# program has started.
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments,
        [int[]] $Accept = @(0),
        [double] $Seconds = 600,
        # Standard input.
        [string] $Text = ''
    )
    $deadline = New-Deadline $Seconds
    $process = Start-Program $Path $Arguments
    try {
        $answer = $process.StandardOutput.ReadToEndAsync()
        $words = $process.StandardError.ReadToEndAsync()
        if (-not (Send-Text $process $Text $Seconds) -or -not $process.WaitForExit([int] (1000 * (Get-Left $deadline)))) {
            $process.Kill()
            throw "$Path has not ended within $([int] $Seconds) s"
        }
        # What it has left behind may hold its output open.
        if (-not $answer.Wait(5000) -or -not $words.Wait(5000)) {
            throw "$Path has ended, but its output has not"
        }
        $lines = @($answer.Result -split "`r?`n" | Where-Object { $_ })
        if ($Accept -notcontains $process.ExitCode) {
            $errors = @($words.Result -split "`r?`n" | Where-Object { $_ })
            throw "$Path ended with $($process.ExitCode): $(($lines + $errors) -join ' | ')"
        }
        $lines
    }
    finally {
        $process.Dispose()
    }
}

# crictl. Its own limit for a call is two seconds (kubernetes-sigs/cri-tools v1.36.0, cmd/crictl/main.go).
function Invoke-Crictl {
    param($Machine, [string[]] $Arguments, [int] $Seconds = 60)
    $common = '--runtime-endpoint', $Machine.kubeletEndpoint, '--timeout', "${Seconds}s"
    Invoke-Program $Machine.programs.crictl ($common + $Arguments) -Seconds ($Seconds + 10)
}

# Pulls an image beside everything else.
function Start-Pull {
    param($Machine, [string] $Image)
    $arguments = '--runtime-endpoint', $Machine.kubeletEndpoint, '--timeout', '600s', 'pull', $Image
    Start-Process -FilePath $Machine.programs.crictl -ArgumentList $arguments -WindowStyle Hidden
}

# What a block asks of WMI in the session $wmi: without one its commands have no limit.
function Invoke-Wmi {
    param([scriptblock] $Question)
    $wmi = New-CimSession -OperationTimeoutSec 30 -ErrorAction Stop
    try {
        & $Question
    }
    finally {
        Remove-CimSession $wmi -ErrorAction SilentlyContinue
    }
}

# Runs the block while no other process runs one under that name, and returns true; false when another process holds the
# lock for longer.
function Invoke-Alone {
    param([string] $Lock, [int] $Milliseconds, [scriptblock] $Body)
    $mutex = New-Object Threading.Mutex $false, "Global\fenestra-$Lock"
    $held = $false
    try {
        try {
            $held = $mutex.WaitOne($Milliseconds)
        }
        catch [Threading.AbandonedMutexException] {
            $held = $true
            Write-Log "the $Lock before this one was cut off"
        }
        if ($held) {
            & $Body | Out-Null
        }
        $held
    }
    finally {
        if ($held) {
            $mutex.ReleaseMutex()
        }
        $mutex.Dispose()
    }
}

# Waits until the condition returns something, and returns it.
function Wait-Until {
    param([scriptblock] $Condition, [int] $Seconds, [string] $What, [double] $PauseSeconds = 2)
    $deadline = New-Deadline $Seconds
    while ($true) {
        $value = & $Condition
        if ($value) {
            return $value
        }
        if ((Get-Left $deadline) -le 0) {
            throw "waited $Seconds s in vain for $What"
        }
        Start-Sleep -Milliseconds ([int] (1000 * $PauseSeconds))
    }
}

# Results of the join stage, which is done again when they cannot be read.
function Get-Node {
    param($Machine)
    Get-Machine $Machine.paths.node
}

# Replaces the placeholders with this machine's values.
function Expand-Text {
    param([string] $Text, $Node)
    $Text.Replace('@NODE_NAME@', $Node.name).Replace('@PROVIDER_ID@', $Node.providerId).Replace('@NODE_IP@', $Node.address)
}

# Restarts Windows, not through WMI, which may hang. One that is under way or planned already is as good: 1115, 1190.
function Restart-Machine {
    param([int] $Seconds = 0)
    Invoke-Program 'shutdown.exe' @('/r', '/f', '/t', "$Seconds", '/c', 'fenestra') -Accept @(0, 1115, 1190) -Seconds 60 | Out-Null
}

# Kills a process and all its descendants.
function Stop-Tree {
    param($Process)
    try {
        Invoke-Program 'taskkill.exe' @('/PID', "$($Process.Id)", '/T', '/F') -Seconds 30 | Out-Null
        $Process.WaitForExit(10000) | Out-Null
    }
    catch {
        Write-Log "not ended: $_"
    }
}
