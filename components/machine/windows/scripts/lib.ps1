# Shared by every script: the machine's data, the log, state on disk, running programs.

# The data rendered for this machine.
function Get-Machine {
    param(
        [string] $Path = "$PSScriptRoot/machine.json"
    )
    Get-Content -Raw -Encoding UTF8 -Path $Path | ConvertFrom-Json
}

# Writes one line with a timestamp to the console and to the log of the running script.
function Write-Log {
    param(
        [string] $Message
    )
    $line = '{0:o} {1}' -f [DateTime]::UtcNow, $Message
    Write-Host $line
    # Looked up through the call stack: a called script has its own script scope.
    if ($LogFile) {
        # A file that another process is reading costs a log line, not the stage.
        Add-Content -Path $LogFile -Value $line -Encoding UTF8 -ErrorAction SilentlyContinue
    }
}

# Sets the log file, and the serial port if it is free, for the calling script and everything it calls.
function Start-Log {
    param(
        [object] $Machine,
        [string] $Name
    )
    New-Folder $Machine.paths.logs
    Set-Variable -Scope 1 -Name LogFile -Value "$($Machine.paths.logs)/$Name.log"
    Set-Variable -Scope 1 -Name ConsolePort -Value "$($Machine.console)"
}

# Writes an event, which outlives the log files, and on AWS a line to the serial console, which the cloud shows without access to the machine.
function Write-Notice {
    param(
        [string] $Message,
        [string] $Kind = 'Information'
    )
    Write-Log $Message
    try {
        if (-not [Diagnostics.EventLog]::SourceExists('fenestra')) {
            [Diagnostics.EventLog]::CreateEventSource('fenestra', 'Application')
        }
        Write-EventLog -LogName Application -Source fenestra -EventId 1 -EntryType $Kind -Message $Message
        if ($ConsolePort) {
            $port = New-Object IO.Ports.SerialPort $ConsolePort, 115200
            $port.WriteTimeout = 2000
            $port.Open()
            $port.WriteLine("fenestra: $Message")
            $port.Close()
        }
    }
    catch {
        Write-Log "notice not delivered everywhere: $_"
    }
}

function New-Folder {
    param(
        [string] $Path
    )
    if (-not (Test-Path -LiteralPath $Path)) {
        New-Item -ItemType Directory -Force -Path $Path | Out-Null
    }
}

# UTF-8 without a byte order mark; the old file stays intact until the new one is complete.
function Write-Text {
    param(
        [string] $Path,
        [string] $Text
    )
    New-Folder (Split-Path -Parent $Path)
    [IO.File]::WriteAllText("$Path.new", $Text)
    Move-Item -Force -LiteralPath "$Path.new" -Destination $Path
}

# Creates a folder that only the system and administrators may read or write, inherited by its contents. Safe to repeat.
function Protect-Folder {
    param(
        [string] $Path
    )
    try {
        New-Folder $Path
        Invoke-Program 'icacls.exe' @($Path, '/inheritance:r', '/grant:r', '*S-1-5-18:(OI)(CI)F', '*S-1-5-32-544:(OI)(CI)F') | Out-Null
    }
    catch {
        throw "access rights of $Path not set: $_"
    }
}

# Runs a program and returns its stdout. A nonzero exit code is an error with stdout and stderr in its message.
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments,
        [int[]] $Accept = @(0)
    )
    if (-not (Get-Command -Name $Path -ErrorAction SilentlyContinue)) {
        throw "program $Path is missing"
    }
    # With 'Stop', Windows PowerShell turns a program's first line on stderr into an exception.
    $ErrorActionPreference = 'Continue'
    $lines = @()
    try {
        $lines = @(& $Path @Arguments 2>&1)
    }
    catch {
        # Without this, the previous program's exit code would count.
        throw "program $Path does not start: $($_.Exception.Message)"
    }
    if ($Accept -notcontains $LASTEXITCODE) {
        throw "$Path ended with ${LASTEXITCODE}: $(($lines | ForEach-Object { "$_" }) -join ' | ')"
    }
    # Merged, a line of stderr is an ErrorRecord and one of stdout a string.
    $lines | Where-Object { $_ -isnot [Management.Automation.ErrorRecord] } | ForEach-Object { "$_" }
}

# Runs the block while no other process runs one under that name, and returns true; false when another process holds the lock for longer.
function Invoke-Alone {
    param(
        [string] $Lock,
        [int] $Milliseconds,
        [scriptblock] $Body
    )
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
    param(
        [scriptblock] $Condition,
        [int] $Seconds,
        [string] $What,
        [int] $PauseSeconds = 2
    )
    $watch = [Diagnostics.Stopwatch]::StartNew()
    while ($true) {
        $value = & $Condition
        if ($value) {
            return $value
        }
        if ($watch.Elapsed.TotalSeconds -ge $Seconds) {
            throw "waited $Seconds s in vain for $What"
        }
        Start-Sleep -Seconds $PauseSeconds
    }
}

# Results of the join stage.
function Get-Node {
    param(
        [object] $Machine
    )
    Get-Content -Raw -Path $Machine.paths.node | ConvertFrom-Json
}

# Replaces the placeholders with this machine's values.
function Expand-Text {
    param(
        [string] $Text,
        [object] $Node
    )
    $Text.Replace('@NODE_NAME@', $Node.name).Replace('@PROVIDER_ID@', $Node.providerId).Replace('@NODE_IP@', $Node.address)
}

# A file's SHA-256 or SHA-512 in lower case; empty when there is no file.
function Get-Digest {
    param(
        [string] $Path,
        [string] $Algorithm
    )
    if (Test-Path -LiteralPath $Path) {
        return (Get-FileHash -LiteralPath $Path -Algorithm $Algorithm).Hash.ToLowerInvariant()
    }
    ''
}
