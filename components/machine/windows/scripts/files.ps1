# Shared by every script: the machine's data, deadlines, the log, files on disk. Needs nothing else, since AWS's user
# data holds it.

# The data rendered for this machine.
function Get-Machine {
    param([string] $Path = "$PSScriptRoot/machine.json")
    $data = Read-Data $Path
    if ($null -eq $data) {
        # Its reader has no log without it.
        Write-Notice "$Path cannot be read" 'Error'
        throw "$Path cannot be read"
    }
    $data
}

# Tries for a second what another program's hold of a file may prevent.
function Invoke-Patient {
    param([scriptblock] $Body)
    for ($attempt = 1; $true; $attempt += 1) {
        try {
            return & $Body
        }
        catch {
            if ($attempt -ge 10) {
                throw
            }
            [Threading.Thread]::Sleep(100)
        }
    }
}

# Text of a file, also of one that another program has open; empty, or with -Needed an error, when it is missing or a
# folder, and when a power failure left NULs in place of its text.
function Read-Text {
    param([string] $Path, [switch] $Needed)
    try {
        $text = if ([IO.File]::Exists($Path)) {
            Invoke-Patient {
                $file = New-Object IO.StreamReader ([IO.File]::Open($Path, 'Open', 'Read', 'ReadWrite, Delete'))
                try {
                    $file.ReadToEnd()
                }
                finally {
                    $file.Close()
                }
            }
        }
        if ($text -and -not $text.Contains("`0")) {
            return $text
        }
    }
    catch {
        Write-Verbose "$_"
    }
    if ($Needed) {
        throw "$Path cannot be read"
    }
    ''
}

# The object in a JSON file, nothing when there is no whole one: what it says is then asked or made anew, as if the file
# were missing.
function Read-Data {
    param([string] $Path)
    $text = Read-Text $Path
    # PowerShell 7 takes some objects without an end.
    if ($text -notmatch '^\s*\{[\s\S]*\}\s*$') {
        return
    }
    try {
        $text | ConvertFrom-Json
    }
    catch {
        Write-Log "$Path holds no JSON"
    }
}

# A time limit that every loop and every call asks. The clock may be set meanwhile, a stopwatch not.
function New-Deadline {
    param([double] $Seconds)
    @{ watch = [Diagnostics.Stopwatch]::StartNew(); seconds = $Seconds }
}

# Seconds left until a deadline, at most those given; 0 when it has passed.
function Get-Left {
    param([hashtable] $Deadline, [double] $AtMost = 86400)
    [Math]::Max(0.0, [Math]::Min($AtMost, $Deadline.seconds - $Deadline.watch.Elapsed.TotalSeconds))
}

# Writes one line with a timestamp to the console and to the log of the running script.
function Write-Log {
    param([string] $Message)
    $line = '{0:o} {1}' -f [DateTime]::UtcNow, $Message
    Write-Host $line
    # Looked up through the call stack: a called script has its own script scope.
    if ($LogFile) {
        # A full disk costs a log line, not the stage; a reader costs none, since the file is shared, which
        # Add-Content's is not.
        try {
            $file = New-Object IO.StreamWriter ([IO.File]::Open($LogFile, 'Append', 'Write', 'ReadWrite'))
            try {
                $file.WriteLine($line)
            }
            finally {
                $file.Close()
            }
        }
        catch {
            Write-Host "not in ${LogFile}: $_"
        }
    }
}

# Sets the log file, and the serial port if it is free, for the calling script and everything it calls.
function Start-Log {
    param($Machine, [string] $Name)
    try {
        New-Folder $Machine.paths.logs
    }
    catch {
        Write-Host "no folder for logs: $_"
    }
    Set-Variable -Scope 1 -Name LogFile -Value "$($Machine.paths.logs)/$Name.log"
    Set-Variable -Scope 1 -Name ConsolePort -Value "$($Machine.console)"
}

# Writes an event, which outlives the log files, and on AWS a line to the serial console, which the cloud shows without
# access to the machine; neither fails for the other. An event takes 31,839 characters.
function Write-Notice {
    param([string] $Message, [string] $Kind = 'Information')
    Write-Log $Message
    $Message = $Message.Substring(0, [Math]::Min(30000, $Message.Length))
    try {
        Write-Event $Message $Kind
    }
    catch {
        Write-Log "no event: $_"
    }
    if ($ConsolePort) {
        try {
            Write-Console $Message
        }
        catch {
            Write-Log "not on the console: $_"
        }
    }
}

# On a thread of its own: the service of events may hang, and neither a drain nor a round waits for it. Not one of
# PowerShell's, for which `exit` waits. A source that is new is made, in the log Application (.NET: EventLog.WriteEntry,
# VerifyAndCreateSource).
function Write-Event {
    param([string] $Message, [string] $Kind)
    $type = [Linq.Expressions.Expression]
    $words = foreach ($value in 'fenestra', $Message, [Diagnostics.EventLogEntryType] $Kind, 1) {
        $type::Constant($value)
    }
    $call = $type::Lambda([Action], $type::Call([Diagnostics.EventLog], 'WriteEntry', $null, [Linq.Expressions.Expression[]] $words))
    if (-not [Threading.Tasks.Task]::Run($call.Compile()).Wait(10000)) {
        throw 'no answer'
    }
}

function Write-Console {
    param([string] $Message)
    $port = New-Object IO.Ports.SerialPort $ConsolePort, 115200
    try {
        $port.WriteTimeout = 2000
        $port.Open()
        $port.WriteLine("fenestra: $Message")
    }
    finally {
        $port.Dispose()
    }
}

function New-Folder {
    param([string] $Path)
    if (-not (Test-Path -LiteralPath $Path)) {
        New-Item -ItemType Directory -Force -Path $Path | Out-Null
    }
}

# UTF-8 without a byte order mark. A reader finds the old file or the new one, also after a power failure: it is on the
# disk before it has the name.
function Write-Text {
    param([string] $Path, [string] $Text)
    New-Folder (Split-Path -Parent $Path)
    $bytes = [Text.Encoding]::UTF8.GetBytes($Text)
    $file = [IO.File]::Create("$Path.new", 4096, [IO.FileOptions]::WriteThrough)
    try {
        $file.Write($bytes, 0, $bytes.Length)
        $file.Flush($true)
    }
    finally {
        $file.Close()
    }
    Move-File "$Path.new" $Path
}

# Puts a file in another's place in one step; `Move-Item -Force` deletes the old one first.
function Move-File {
    param([string] $From, [string] $To)
    if (Test-Path -LiteralPath $To -PathType Container) {
        Remove-Item -Recurse -Force -LiteralPath $To
    }
    Invoke-Patient {
        if ([IO.File]::Exists($To)) {
            [IO.File]::Replace($From, $To, [NullString]::Value)
        }
        else {
            [IO.File]::Move($From, $To)
        }
    }
}

# A file's SHA-256 or SHA-512 in lower case; empty when there is no file.
function Get-Digest {
    param([string] $Path, [string] $Algorithm)
    if (Test-Path -LiteralPath $Path) {
        return (Get-FileHash -LiteralPath $Path -Algorithm $Algorithm).Hash.ToLowerInvariant()
    }
    ''
}
