# A Windows machine and its cloud for all tests: read in before the scripts, whose copies it changes. $fakePc is what the
# machine has, what was asked of it, done to it and told. Each call goes by Invoke-Call, where a test spoils it.
. "$PSScriptRoot/harness.ps1"
$fakePc = @{}
function Reset-Pc {
    param($Values = @{})
    $fakePc.Clear()
    Set-Values $fakePc @{
        time = 0; slept = @(); calls = @(); ways = @{}; deeds = @(); told = @(); console = @(); log = @(); over = $false; locked = $false; words = @{}
        number = 0; next = 1; reach = ''; call = ''; way = ''; times = 1000000
        services = @{}; processes = @(); programs = @{}; starts = @{}; registry = @{}; features = @{}; tasks = @{}; rules = @(); shares = @()
        routes = @(New-Route '0.0.0.0/0' 7 '10.0.0.1'); kept = @(); removed = @(); address = @{ AddressState = 'Preferred'; IPAddress = '10.0.0.9' }
        policylists = @(); endpoints = @(); networks = @(@{ ID = 'n0'; Name = 'nat'; Type = 'NAT' }); switch = $false; stuck = $false; back = 0; made = 0
        tokens = 0; keys = 0; acl = 'O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)'
    }
    Set-Values $fakePc $Values
}

# One call from outside: as it is, or spoilt. With a limit one that hangs ends as an error, else its process is ended from
# outside: `over`, and nothing happens any more. A deed, or the kernel's list of processes, is never half: it is `Sure`.
# It is spoilt by its name or number; `reach` says which come after that one: all of its kind, or all.
function Invoke-Call {
    param($Call, $FakeDo, $Limit = 0, [switch] $Sure)
    if ($fakePc.over) { return }
    $fakePc.calls += $Call
    $fakePc.ways[$Call] = @('hangs', 'throws', 'slow') + @(if (-not $Sure) { 'nothing', 'empty' })
    $fakeIs = $fakePc.number -eq $fakePc.calls.Count
    if ($fakeIs -and $fakePc.reach) { $fakePc.call = @{ all = '*'; kind = "$(Get-Kind $Call)*" }[$fakePc.reach] }
    if (($fakeIs -or ($fakePc.call -and $Call -like $fakePc.call)) -and $fakePc.times -gt 0) {
        $fakePc.times -= 1
        switch ($fakePc.way) {
            'hangs' {
                $fakePc.time += $Limit
                if ($Limit) { throw "$Call has not ended within $Limit s" }
                $fakePc.over = $true
            }
            'nothing' { if (-not $Sure) { return } }
            'empty' { if (-not $Sure) { return New-Object PSObject } }
            'slow' { $fakePc.time += 60 }
            'throws' { throw "$Call is made to fail" }
            default { throw $fakePc.way }
        }
        if ($fakePc.over) { break 'alive' }
    }
    & $FakeDo
}
# Its first word; of all programs one.
function Get-Kind { "$($args[0])" -replace '^\S+\.exe.*', '*.exe' -replace ' .*' }
function Add-Deed {
    param($Deed)
    if (-not $fakePc.over) { $fakePc.deeds += $Deed }
}
# Each call that a run makes fails in turn: a machine made anew, the run with the fault, and what must hold behind it, which
# gets what the run threw.
function Test-Calls {
    param($New, $Run, $Holds, $Reach = '', $Which = { $true })
    & $New
    & $Run | Out-Null
    $fakeAll = $fakePc.calls
    for ($fakeAt = 1; $fakeAt -le $fakeAll.Count; $fakeAt += 1) {
        if (-not (& $Which $fakeAll $fakeAt)) { continue }
        & $New
        Set-Values $fakePc @{ number = $fakeAt; way = 'throws'; reach = $Reach }
        $fakeFailure = ''
        try { & $Run | Out-Null } catch { $fakeFailure = "$_" }
        Set-Values $fakePc @{ number = 0; call = ''; way = ''; reach = '' }
        try { & $Holds $fakeFailure }
        catch { throw "failure of call $fakeAt of $($fakeAll.Count), $($fakeAll[$fakeAt - 1]): $_" }
    }
}

# Time is the sum of the pauses; in one the adapter may come, or come back.
function Start-Sleep {
    param($Seconds = 0, $Milliseconds = 0)
    $fakePc.time += [Math]::Max(0.1, $Seconds + $Milliseconds / 1000)
    $fakePc.slept += $Seconds
    Step-Adapter
    if ($fakePc.onSleep) { & $fakePc.onSleep $Seconds }
}
function Add-FakeProperty { $args[0].PSObject.Properties.Add((New-Object Management.Automation.PSScriptProperty $args[1], $args[2])) }
function New-FakeWatch {
    $fakeMade = [PSCustomObject] @{ begun = $fakePc.time }
    Add-FakeProperty $fakeMade 'Elapsed' { [TimeSpan]::FromSeconds($fakePc.time - $this.begun) }
    Add-FakeProperty $fakeMade 'ElapsedMilliseconds' { 1000 * ($fakePc.time - $this.begun) }
    $fakeMade
}

# A program answers by a block of the test; what has none is a deed.
function Invoke-FakeProgram {
    param($Path, $Arguments, $Accept, $Seconds = 600, $Text)
    $fakeName = [IO.Path]::GetFileName($Path)
    $fakeWord = @($Arguments)[[int] $fakePc.words[$fakeName]]
    Invoke-Call "$fakeName $fakeWord".Trim() -Limit $Seconds -Sure:($fakePc.sure -contains $fakeWord) {
        if ($fakePc.guards) { & $fakePc.guards $Path }
        if ($fakePc.programs[$fakeName]) { & $fakePc.programs[$fakeName] $Arguments $Text $Path $Seconds }
        else { Add-Deed "$fakeName $Arguments".Trim() }
    }
}
function Start-Process {
    param($FilePath, $ArgumentList, $WindowStyle, $RedirectStandardOutput, $RedirectStandardError, [switch] $PassThru, [switch] $NoNewWindow)
    $fakeName = [IO.Path]::GetFileName($FilePath)
    $fakeCode = [int] $fakePc.exitCode
    if ($fakePc.starts[$fakeName]) { $fakeCode = & $fakePc.starts[$fakeName] $ArgumentList $FilePath } else { Add-Deed "$FilePath $ArgumentList".Trim() }
    New-Fake @{ Handle = 1; ExitCode = $fakeCode; HasExited = [bool] $fakePc.exits; Id = 7 } @{
        WaitForExit = { if ($fakePc.breaks) { throw 'broken' }; if ($args.Count -gt 0) { $true } }
        Kill        = { Add-Deed 'kill' }
    }
}
# By name, or an object that has its own.
function Get-Process {
    param($Name)
    Invoke-Call 'Get-Process' -Sure {
        foreach ($fakeEach in $fakePc.processes) {
            if ($fakeEach -is [string]) { if (@($Name | Where-Object { $fakeEach -like $_ }).Count -gt 0) { [PSCustomObject] @{ Name = $fakeEach; PriorityClass = 'AboveNormal' } } }
            elseif (-not $Name -or $fakeEach.Name -like $Name) { $fakeEach }
        }
    }
}
function Stop-Process {
    param([Parameter(ValueFromPipeline = $true)] $InputObject, $Id, [switch] $Force)
    process {
        Invoke-Call 'Stop-Process' -Sure {
            $fakeWhat = @($Id, $InputObject.Name, $InputObject.Path | Where-Object { $_ })[0]
            Add-Deed "end $fakeWhat"
            $fakePc.processes = @($fakePc.processes -ne $InputObject.Name)
            foreach ($fakeOwn in @($fakePc.services.Values)) { if ($fakeOwn.id -eq $Id) { $fakeOwn.status = 'Stopped' } }
        }
    }
}

# As the service manager: a disabled service does not start, and a child outlives its service. One may ignore the request
# to stop, or go on stopping, until its process is ended.
function Get-Service {
    param($Name)
    Invoke-Call 'Get-Service' {
        if (-not $fakePc.services.ContainsKey($Name)) { return }
        $fakeFound = New-Fake @{ Name = $Name } @{
            Stop          = {
                $fakeOwn = $fakePc.services[$this.Name]
                Invoke-Call 'Stop' -Sure {
                    Add-Deed "stop $($this.Name)"
                    if ($fakeOwn.hangs -eq 'refuses') { throw 'the service does not accept control messages at this time' }
                    $fakeOwn.status = 'StopPending'
                    if (-not $fakeOwn.hangs) { $fakeOwn.status = 'Stopped' }
                }
            }
            Start         = {
                $fakeOwn = $fakePc.services[$this.Name]
                Invoke-Call 'Start' -Sure {
                    if ($fakeOwn.start -eq 'Disabled') { throw "service $($this.Name) is disabled" }
                    Add-Deed "start $($this.Name)"
                    if ($fakePc.onStart) { & $fakePc.onStart $this.Name }
                    $fakeOwn.status = 'Running'
                    $fakeOwn.id += 7
                    if ($this.Name -eq 'kubelet') { $fakePc.processes += 'kubelet' }
                }
            }
            WaitForStatus = {
                $fakeWanted = $args[0]
                Invoke-Call 'WaitForStatus' -Limit $args[1].TotalSeconds {
                    if ($fakePc.services[$this.Name].status -ne $fakeWanted) { throw "time out: $($this.Name) is $($fakePc.services[$this.Name].status)" }
                }
            }
        }
        Add-FakeProperty $fakeFound 'Status' { $fakePc.services[$this.Name].status }
        Add-FakeProperty $fakeFound 'StartType' { $fakePc.services[$this.Name].start }
        $fakeFound
    }
}
function Set-Service {
    param($Name, $StartupType)
    Invoke-Call 'Set-Service' -Sure {
        if ($fakePc.services[$Name]) { $fakePc.services[$Name].start = $StartupType }
        Add-Deed "set $Name $StartupType"
    }
}
function New-Service {
    param($Name, $BinaryPathName, $DependsOn, $StartupType)
    Invoke-Call 'New-Service' -Sure {
        Add-Deed "new $Name on $DependsOn"
        $fakePc.services[$Name] = @{ start = $StartupType; status = 'Stopped'; command = $BinaryPathName }
    }
}
function New-CimSession { Invoke-Call 'New-CimSession' { 'session' } }
function Remove-CimSession { }
function Get-CimInstance {
    param($ClassName, $Filter, $Namespace, $CimSession)
    Invoke-Call 'Get-CimInstance' {
        if ($Namespace -like '*Defender') { return $fakePc.defender }
        if ($fakePc.cim) { return $fakePc.cim[$ClassName] }
        foreach ($fakeName in @($fakePc.services.Keys)) {
            $fakeId = $fakePc.services[$fakeName].id
            if ("Name='$fakeName'", "ProcessId=$fakeId" -contains $Filter) { [PSCustomObject] @{ Name = $fakeName; ProcessId = $fakeId } }
        }
    }
}
function Invoke-CimMethod {
    param($InputObject, $MethodName, $Arguments)
    if (-not $fakePc.refuses) { $fakePc.services[$InputObject.Name].command = $Arguments.PathName }
    @{ ReturnValue = [int] $fakePc.refuses }
}

# The registry by path and name, for cmdlets and for .NET's own calls.
function Test-Path {
    param($LiteralPath, $PathType = 'Any')
    if ($LiteralPath -like 'HKLM:*') { return $fakePc.registry.ContainsKey($LiteralPath.Substring(6)) }
    Microsoft.PowerShell.Management\Test-Path -LiteralPath $LiteralPath -PathType $PathType
}
function New-Item {
    param($ItemType, $Path, [switch] $Force)
    if ($Path -like 'HKLM:*') { $fakePc.registry[$Path.Substring(6)] = @{} }
    else { Microsoft.PowerShell.Management\New-Item -ItemType $ItemType -Force -Path $Path }
}
function New-ItemProperty {
    param([Alias('Path')] $LiteralPath, $Name, $PropertyType, $Value, [switch] $Force)
    Invoke-Call "registry $Name" -Sure {
        Add-Deed "$LiteralPath $Name $PropertyType $Value"
        if (-not $fakePc.registry[$LiteralPath.Substring(6)]) { $fakePc.registry[$LiteralPath.Substring(6)] = @{} }
        $fakePc.registry[$LiteralPath.Substring(6)][$Name] = $Value
    }
}
function Get-ItemProperty {
    param([Parameter()] $LiteralPath)
    if ($fakePc.registry[$LiteralPath.Substring(6)]) { [PSCustomObject] $fakePc.registry[$LiteralPath.Substring(6)] }
}
function New-FakeSecurity {
    New-Fake @{ sddl = '' } @{
        SetSecurityDescriptorSddlForm = { $this.sddl = "$args" }
        GetSecurityDescriptorSddlForm = { 'O:TI' }
        AddAccessRule                 = { $this.sddl += "allow $($args[0])" }
    }
}
function New-FakeKey {
    param($Path, $Rights)
    if (-not $fakePc.registry[$Path]) { $fakePc.registry[$Path] = @{} }
    New-Fake @{ values = $fakePc.registry[$Path]; rights = "$Rights" } @{
        GetValue         = { $this.values.Item($args[0]) }
        # Every user may read the key of a service.
        SetValue         = { if ($args[0] -eq 'Environment' -and -not $this.values.sddl) { throw 'all may read it' }; $this.values.($args[0]) = $args[1] }
        GetAccessControl = { New-FakeSecurity }
        SetAccessControl = { $this.values.sddl = $args[0].sddl; Add-Deed "$($args[0].sddl) by $($this.rights)" }
        CreateSubKey     = { if ($fakePc.breaks) { throw 'no key' }; Add-Deed "make $($args[0])"; New-Object IO.MemoryStream }
        Close            = { return }
    }
}
$fakeRegistry = New-Fake @{} @{
    CreateSubKey = { $fakePc.volatile = "$($args[2])"; New-FakeKey $args[0] }
    OpenSubKey   = { if ($fakePc.registry.ContainsKey($args[0]) -or $fakePc.services.ContainsKey([IO.Path]::GetFileName($args[0].Replace('\', '/')))) { New-FakeKey $args[0] $args[2] } }
}
function Get-Acl { Invoke-Call 'Get-Acl' { @{ Sddl = $fakePc.acl } } }
function New-FakePort {
    New-Fake @{ WriteTimeout = 0 } @{ Open = { return }; Dispose = { return }; WriteLine = { if (-not $this.WriteTimeout) { throw 'nobody reads' }; $fakePc.console += $args[0] } }
}
# The health port of a process that runs already: a round opens none.
$fakePort = New-Fake @{} @{ Pending = { $false } }
function Get-WindowsFeature {
    param($Name)
    Invoke-Call 'Get-WindowsFeature' -Sure { foreach ($fakeEach in $Name) { [PSCustomObject] @{ Name = $fakeEach; InstallState = $fakePc.features[$fakeEach] } } }
}
function Install-WindowsFeature {
    param($Name)
    Invoke-Call 'Install-WindowsFeature' -Sure {
        Add-Deed "install $Name"
        if (-not $fakePc.refuses) { foreach ($fakeEach in $Name) { $fakePc.features[$fakeEach] = 'InstallPending' } }
        [PSCustomObject] @{ Success = -not $fakePc.refuses; RestartNeeded = 'Yes'; ExitCode = 'Failed' }
    }
}
function New-ScheduledTaskAction { param($Execute, $Argument) $Argument }
function New-ScheduledTaskTrigger {
    param([switch] $AtStartup, [switch] $Once, [DateTime] $At, [TimeSpan] $RepetitionInterval)
    if ($Once) { return "every $($RepetitionInterval.TotalMinutes) min since $($At.Year)" }
    "at startup $AtStartup"
}
function New-ScheduledTaskPrincipal { param($UserId, $LogonType, $RunLevel) $UserId }
# By default three days, and below normal priority.
function New-ScheduledTaskSettingsSet {
    param([TimeSpan] $ExecutionTimeLimit = '3.00:00:00', $Priority = 7, [switch] $AllowStartIfOnBatteries, [switch] $DontStopIfGoingOnBatteries, $MultipleInstances, $RestartCount, $RestartInterval)
    "$($ExecutionTimeLimit.TotalSeconds) $Priority $AllowStartIfOnBatteries $DontStopIfGoingOnBatteries $RestartCount every $($RestartInterval.TotalMinutes)"
}
function Register-ScheduledTask {
    param($TaskName, $Action, $Trigger, $Principal, $Settings, [switch] $Force)
    if ($fakePc.tasks[$TaskName] -and -not $Force) { throw 'it exists' }
    Add-Deed "task $TaskName"
    $fakePc.tasks[$TaskName] = @{ State = 'Ready'; is = @($Action, $Trigger, $Principal, $Settings) }
}
function Get-ScheduledTask {
    param($TaskName)
    Invoke-Call 'Get-ScheduledTask' { if ($fakePc.tasks[$TaskName]) { [PSCustomObject] $fakePc.tasks[$TaskName] } }
}
function Start-ScheduledTask {
    param($TaskName)
    Invoke-Call 'Start-ScheduledTask' -Sure {
        Add-Deed "run $TaskName"
        if ($fakePc.tasks[$TaskName]) { $fakePc.tasks[$TaskName].State = 'Running' }
    }
}
function Unregister-ScheduledTask { param($TaskName, [switch] $Confirm) Add-Deed "forget $TaskName" }

. "$PSScriptRoot/network.ps1"

# The one request of web.ps1. A test's block gets call, headers and body; what it returns is sent as text or JSON, and what
# it, or the way of a call, throws as `refusal CODE TEXT` is one.
function Get-FakeAnswer {
    param($Request, $Seconds)
    $fakeWhat = "$(if ($Request.Method) { $Request.Method } else { 'GET' }) $($Request.Uri)"
    $fakePc.last = @{ headers = $Request.Headers; type = $Request.ContentType; body = $Request.Body; file = $Request.OutFile; seconds = $Seconds }
    try {
        Invoke-Call $fakeWhat -Limit $Seconds {
            $fakeText = & $fakePc.answer $fakeWhat $Request.Headers $Request.Body
            if ($null -ne $fakeText -and $fakeText -isnot [string]) { $fakeText = ConvertTo-Json -Depth 10 -Compress -InputObject $fakeText }
            @{ status = 200; text = "$fakeText" }
        }
    }
    catch {
        if ("$_" -notmatch '^refusal (\d+) ?(.*)$') { throw }
        @{ status = [int] $Matches[1]; text = $Matches[2] }
    }
}
$imds = 'http://169.254.169.254/latest'
# The metadata service of AWS: every token and every pair of keys is a new one.
function Get-AwsAnswer {
    param($Call, $Headers)
    if ($Call -eq "PUT $imds/api/token") {
        Assert-Equal $Headers['X-aws-ec2-metadata-token-ttl-seconds'] '300'
        $fakePc.tokens += 1
        return "session-$($fakePc.tokens)"
    }
    if ("$($Headers['X-aws-ec2-metadata-token'])" -notlike 'session-*') { throw 'refusal 401' }
    switch ($Call.Replace("GET $imds/meta-data/", '')) {
        'instance-id' { return 'i-0123456789abcdef0' }
        'placement/availability-zone' { return 'eu-central-1a' }
        'local-ipv4' { return '10.0.0.7' }
        'iam/security-credentials/' { return 'role' }
        'iam/security-credentials/role' {
            $fakePc.keys += 1
            return "{`"AccessKeyId`":`"AKID$($fakePc.keys)`",`"SecretAccessKey`":`"secret`",`"Token`":`"token$($fakePc.keys)`",`"Expiration`":`"2026-01-01T06:00:00Z`"}"
        }
    }
    throw 'refusal 404'
}

# The scripts, with this machine in place of what only Windows has; as they are they stay for other processes.
Copy-Item -Recurse -LiteralPath $scripts -Destination "$temp/real"
foreach ($script in Get-ChildItem -Filter *.ps1 -LiteralPath $scripts) {
    $text = [IO.File]::ReadAllText($script.FullName)
    foreach ($pair in @(
        @('[Diagnostics.Stopwatch]::StartNew()', '(New-FakeWatch)'), @('[Microsoft.Win32.Registry]::LocalMachine', '$fakeRegistry')
        @('New-Object Security.AccessControl.RegistrySecurity', 'New-FakeSecurity'), @('New-Object Security.Principal.SecurityIdentifier', 'Write-Output')
        @('New-Object Security.AccessControl.RegistryAccessRule', 'Write-Output'), @('New-Object IO.Ports.SerialPort $ConsolePort, 115200', 'New-FakePort')
    )) { $text = $text.Replace($pair[0], $pair[1]) }
    [IO.File]::WriteAllText($script.FullName, $text)
}
Add-Content -Path "$scripts/files.ps1" -Value 'function Write-Event { $fakePc.told += $args[0] }', 'function Write-Log { $fakePc.log += "$args" }'
Add-Content -Path "$scripts/lib.ps1" -Value 'function Invoke-Program { Invoke-FakeProgram @args }', @'
function Invoke-Alone {
    param($Lock, $Milliseconds, $Body)
    if ($fakePc.locked -and $Lock -eq 'run') { return $false }
    $fakePc.held = $Lock
    try { & $Body | Out-Null } finally { $fakePc.held = '' }
    $true
}
'@
Add-Content -Path "$scripts/web.ps1" -Value 'function Send-Web { Get-FakeAnswer @args }'
Reset-Pc
