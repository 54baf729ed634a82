# One archive for troubleshooting a node: logs, stage state, HNS, routes, services, containerd and kubelet, without
# secrets.
param(
    # Below this folder only the system and administrators may read.
    [string] $Destination = 'C:\fenestra\logs.tar.gz'
)
# The broken parts are the interesting ones: continue past every error.
$ErrorActionPreference = 'Continue'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/hns.ps1"

# Of a file that is larger only the end is taken, and no more files once the archive's contents have the second size. A
# question has these seconds.
$limits = @{ file = 20971520; all = 524288000; used = 0; seconds = 120; hung = $false }

# Masks secrets by the list that Linux machines have too: what the first group of a pattern holds stays, the rest of the
# match is hidden. In some cultures, as in Turkish, I is not the capital of i.
function Hide-Secret {
    param([string] $Line)
    foreach ($pattern in $patterns) {
        $Line = [Regex]::Replace($Line, $pattern, '$1(hidden)', 'CultureInvariant')
    }
    $Line
}

# Writes lines without secrets; a private key of several lines is left out as a whole.
function Write-Masked {
    param([IO.TextReader] $Reader, [string] $Path)
    $writer = New-Object IO.StreamWriter $Path
    try {
        $key = $false
        while ($null -ne ($line = $Reader.ReadLine())) {
            # A file that 5.1 appends to may be UTF-16 in its end alone: no pattern fits that.
            $line = $line.Replace("`0", '')
            $key = $key -or $line -cmatch '-----BEGIN [A-Z ]*PRIVATE KEY-----'
            if (-not $key) {
                $writer.WriteLine((Hide-Secret $line))
            }
            $key = $key -and $line -cnotmatch '-----END [A-Z ]*PRIVATE KEY-----'
        }
    }
    finally {
        $writer.Close()
    }
}

# Writes the output of a command, or its error, to a separate file. Each has a thread of its own: what hangs costs its
# own answer.
function Save-Answer {
    param([string] $Name, [scriptblock] $Command)
    try {
        $thread = [PowerShell]::Create().AddScript({
            param([string] $Folder, $machine, [string[]] $words, [string] $Text)
            . "$Folder/lib.ps1"
            . "$Folder/hns.ps1"
            & ([scriptblock]::Create($Text)) 2>&1
        })
        foreach ($argument in $PSScriptRoot, $machine, $words, "$Command") {
            $thread.AddArgument($argument) | Out-Null
        }
        $work = $thread.BeginInvoke()
        if (-not $work.AsyncWaitHandle.WaitOne(1000 * $limits.seconds)) {
            $limits.hung = $true
            throw "no answer within $($limits.seconds) s"
        }
        # Before the output is wrapped into lines, which could split a secret.
        $text = $thread.EndInvoke($work) | ForEach-Object { if ($_ -is [string] -or $_ -is [Management.Automation.ErrorRecord]) { Hide-Secret "$_" } else { $_ } } | Out-String -Width 400
    }
    catch {
        $text = "$($_.Exception.GetBaseException().Message)"
    }
    Write-Masked (New-Object IO.StringReader $text) "$folder/$Name.txt"
}

# Copies a file or folder, but no file that is nothing but a secret: kubeconfigs, keys, certificates, memory dumps.
function Copy-Source {
    param([string] $Path)
    # Given a file's own path, a recursive search would look for its name in all folders below.
    $files = @(Get-Item -LiteralPath $Path -ErrorAction SilentlyContinue)
    if (Test-Path -LiteralPath $Path -PathType Container) {
        $files = @(Get-ChildItem -Recurse -File -LiteralPath $Path -ErrorAction SilentlyContinue)
    }
    foreach ($file in $files) {
        if ([Regex]::IsMatch($file.FullName, '[\\/]dumps[\\/]|kubeconfig', 'IgnoreCase, CultureInvariant') -or '.conf', '.pem', '.key', '.crt', '.pfx', '.dmp' -contains $file.Extension) {
            continue
        }
        try {
            $stream = [IO.File]::Open($file.FullName, 'Open', 'Read', 'ReadWrite, Delete')
            try {
                $bytes = [Math]::Min($stream.Length, $limits.file)
                if ($limits.used + $bytes -gt $limits.all) {
                    throw 'the archive is full'
                }
                if ($bytes -lt $stream.Length) {
                    "$($file.FullName): all but the last $bytes of $($stream.Length) bytes" | Add-Omission
                    $stream.Seek(-$bytes, 'End') | Out-Null
                }
                $limits.used += $bytes
                $target = Join-Path $folder ($file.FullName -replace ':', '')
                New-Folder (Split-Path -Parent $target)
                Write-Masked (New-Object IO.StreamReader $stream, (Get-Encoding $stream)) $target
            }
            finally {
                $stream.Close()
            }
        }
        catch {
            "$($file.FullName): $_" | Add-Omission
        }
    }
}

# UTF-16 where every second byte is zero, which its writers do not always mark; else UTF-8. Keeps the stream's place.
function Get-Encoding {
    param([IO.Stream] $Stream)
    $buffer = New-Object byte[] 64
    $count = $Stream.Read($buffer, 0, 64)
    $Stream.Seek(-$count, 'Current') | Out-Null
    $zeros = 0
    for ($i = 1; $i -lt $count; $i += 2) {
        if ($buffer[$i] -eq 0) {
            $zeros += 1
        }
    }
    if ($zeros -gt $count / 4) {
        return [Text.Encoding]::Unicode
    }
    [Text.Encoding]::UTF8
}

function Add-Omission {
    process {
        $omitted.Add($_)
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$omitted = New-Object Collections.Generic.List[string]
try {
    $machine = Get-Machine
}
catch {
    "$_" | Add-Omission
    # A node that has lost its data has its logs still.
    $machine = @{ paths = @{ logs = 'C:\var\log\fenestra'; state = "$PSScriptRoot/state" } }
}
$patterns = @((Read-Text "$PSScriptRoot/secret-patterns.txt") -split "`r?`n" | Where-Object { $_ })
if ($patterns.Count -eq 0) {
    throw 'there is no list of secrets'
}
$folder = Join-Path ([IO.Path]::GetTempPath()) "fenestra-$([Guid]::NewGuid())"
# The archive is as confidential as the node itself.
Protect-Folder $folder
foreach ($words in 'networks', 'endpoints', 'policylists') {
    Save-Answer "hns-$words" { Invoke-Hns GET "/$words/" | ConvertTo-Json -Depth 20 }
}
Save-Answer 'services' { Get-Service | Format-Table -AutoSize }
Save-Answer 'tasks' { Invoke-Wmi { Get-ScheduledTask -TaskName 'fenestra*' -CimSession $wmi | Get-ScheduledTaskInfo -CimSession $wmi } }
Save-Answer 'routes' { Invoke-Wmi { Get-NetRoute -AddressFamily IPv4 -CimSession $wmi } | Format-Table -AutoSize }
Save-Answer 'addresses' { Invoke-Wmi { Get-NetIPAddress -AddressFamily IPv4 -CimSession $wmi } }
Save-Answer 'adapters' { Invoke-Wmi { Get-NetAdapter -CimSession $wmi } }
Save-Answer 'features' { Get-WindowsFeature | Where-Object { $_.InstallState -eq 'Installed' } }
Save-Answer 'memory' { Invoke-Wmi { Get-CimInstance Win32_OperatingSystem -CimSession $wmi } | Format-List -Property @('*Memory*', '*Page*') }
Save-Answer 'dumps' { Get-ChildItem -LiteralPath $machine.paths.dumps | Format-Table -AutoSize -Property @('LastWriteTime', 'Length', 'Name') }
Save-Answer 'events' { Get-WinEvent -MaxEvents 1000 -LogName @('Application', 'System') | ForEach-Object { '{0:o} {1} {2} {3}' -f $_.TimeCreated, $_.ProviderName, $_.Id, $_.Message } }
foreach ($question in 'info', 'pods', 'ps --all') {
    $words = -split $question
    Save-Answer "crictl-$($words[0])" { Invoke-Crictl $machine $words }
}
Save-Answer 'containerd-config' { Invoke-Program $machine.services.containerd.program @('--config', $machine.paths.containerdConfig, 'config', 'dump') -Seconds 60 }
foreach ($source in @($machine.paths.logs, $machine.paths.state, $machine.paths.machine, $machine.network.conflist, $machine.network.subnetFile) + $machine.cloudLogs) {
    if ($source) {
        Copy-Source $source
    }
}
Write-Masked (New-Object IO.StringReader ($omitted -join "`r`n")) "$folder/left-out.txt"
try {
    $ErrorActionPreference = 'Stop'
    Invoke-Program 'tar.exe' @('-czf', "$Destination.new", '-C', $folder, '.') -Seconds 600 | Out-Null
    Move-File "$Destination.new" $Destination
}
finally {
    Remove-Item -Recurse -Force -LiteralPath $folder -ErrorAction SilentlyContinue
}
Write-Host $Destination
# `exit` would wait for the question that hangs.
if ($limits.hung) {
    [Environment]::Exit(0)
}
