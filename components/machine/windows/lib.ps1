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

# Names the log file for the script that calls this and for all it calls.
function Start-Log {
    param(
        [object] $Machine,
        [string] $Name
    )
    New-Folder $Machine.paths.logs
    Set-Variable -Scope 1 -Name LogFile -Value "$($Machine.paths.logs)/$Name.log"
}

# An event that outlives the log files, and a line on the serial console, which both clouds show without access to the machine.
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
        $port = New-Object IO.Ports.SerialPort 'COM1', 115200
        $port.WriteTimeout = 2000
        $port.Open()
        $port.WriteLine("fenestra: $Message")
        $port.Close()
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

# Runs a program and returns its output; a nonzero exit code is an error that holds the output.
function Invoke-Program {
    param(
        [string] $Path,
        [string[]] $Arguments,
        [int[]] $Accept = @(0)
    )
    # With 'Stop', Windows PowerShell turns a program's first line on stderr into an exception.
    $ErrorActionPreference = 'Continue'
    $output = & $Path @Arguments 2>&1 | ForEach-Object { "$_" }
    if ($Accept -notcontains $LASTEXITCODE) {
        throw "$Path ended with ${LASTEXITCODE}: $($output -join ' | ')"
    }
    $output
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

# Name of this boot: a volatile key vanishes with it, while the boot time that Windows reports moves when the clock is set.
function Get-BootId {
    $volatile = [Microsoft.Win32.RegistryOptions]::Volatile
    $check = [Microsoft.Win32.RegistryKeyPermissionCheck]::ReadWriteSubTree
    $key = [Microsoft.Win32.Registry]::LocalMachine.CreateSubKey('SOFTWARE\fenestra-boot', $check, $volatile)
    # The watchdog and the first stages ask at the same moment, and all must get the same name.
    $mutex = New-Object Threading.Mutex $false, 'Global\fenestra-boot'
    $mutex.WaitOne() | Out-Null
    if ($null -eq $key.GetValue('id')) {
        $key.SetValue('id', [Guid]::NewGuid().ToString())
    }
    $key.GetValue('id')
    $mutex.ReleaseMutex()
}

# Whether a stage has nothing left to do: same inputs, same boot where that matters, no placeholder left in its files.
function Test-StageDone {
    param(
        [object] $Machine,
        [object] $Stage,
        [string] $BootId
    )
    try {
        $done = Get-Content -Raw -Path "$($Machine.paths.state)/$($Stage.name).json" | ConvertFrom-Json
    }
    catch {
        return $false
    }
    if ($done.hash -ne $Stage.hash) {
        return $false
    }
    if ($Stage.scope -eq 'boot' -and $done.boot -ne $BootId) {
        return $false
    }
    foreach ($path in $Stage.fills) {
        if (-not (Test-Path -LiteralPath $path) -or (Select-String -Quiet -LiteralPath $path -Pattern '@[A-Z_]+@' -CaseSensitive)) {
            return $false
        }
    }
    $true
}

function Set-StageDone {
    param(
        [object] $Machine,
        [object] $Stage,
        [string] $BootId
    )
    $state = @{ hash = $Stage.hash; boot = $BootId; finished = [DateTime]::UtcNow.ToString('o') }
    Write-Text "$($Machine.paths.state)/$($Stage.name).json" ($state | ConvertTo-Json -Compress)
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
