# What every script shares: the machine's data, the log, state on disk, running programs.

# The data that was rendered for this machine.
function Get-Machine {
    param(
        [string] $Path = "$PSScriptRoot/machine.json"
    )
    Get-Content -Raw -Encoding UTF8 -Path $Path | ConvertFrom-Json
}

# One line with its time, to the console and to the log of the script that runs.
function Write-Log {
    param(
        [string] $Message
    )
    $line = '{0:o} {1}' -f [DateTime]::UtcNow, $Message
    Write-Host $line
    # Found up the chain of callers: a script that is called has a script scope of its own.
    if ($LogFile) {
        # A file that someone reads just now costs a line, not the stage.
        Add-Content -Path $LogFile -Value $line -Encoding UTF8 -ErrorAction SilentlyContinue
    }
}

# Names the log file, and the serial port where it is free, for the script that calls this and for all it calls.
function Start-Log {
    param(
        [object] $Machine,
        [string] $Name
    )
    New-Folder $Machine.paths.logs
    Set-Variable -Scope 1 -Name LogFile -Value "$($Machine.paths.logs)/$Name.log"
    Set-Variable -Scope 1 -Name ConsolePort -Value "$($Machine.console)"
}

# An event that outlives the log files, and on AWS a line on the serial console, which the cloud shows without access to the machine.
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

# UTF-8 without a byte order mark; the old file stays whole until the new one is.
function Write-Text {
    param(
        [string] $Path,
        [string] $Text
    )
    New-Folder (Split-Path -Parent $Path)
    [IO.File]::WriteAllText("$Path.new", $Text)
    Move-Item -Force -LiteralPath "$Path.new" -Destination $Path
}

# Makes a folder that only the system and administrators may read or write; what is in it inherits that. Safe to repeat.
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

# Runs a program and returns what it writes to stdout. A nonzero exit code is an error that holds stdout and stderr.
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
        # Without this, the exit code of the program before would count.
        throw "program $Path does not start: $($_.Exception.Message)"
    }
    if ($Accept -notcontains $LASTEXITCODE) {
        throw "$Path ended with ${LASTEXITCODE}: $(($lines | ForEach-Object { "$_" }) -join ' | ')"
    }
    # Merged, a line of stderr is an ErrorRecord and one of stdout a string.
    $lines | Where-Object { $_ -isnot [Management.Automation.ErrorRecord] } | ForEach-Object { "$_" }
}

# Runs the block while no other process runs one under that name, and gives true; false when another one keeps at it for longer.
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

# Waits until the condition gives something, and returns it.
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

# What the join stage learnt of this machine.
function Get-Node {
    param(
        [object] $Machine
    )
    Get-Content -Raw -Path $Machine.paths.node | ConvertFrom-Json
}

# Puts this machine's values in place of the placeholders.
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
