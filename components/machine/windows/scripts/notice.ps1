# Whether the cloud is about to terminate or to interrupt this machine: polled every few seconds, since there is no push
# notification.

# A value of the metadata service, empty when it does not answer: no path that fails or hangs hides what another says.
# Then $Silent is set.
function Get-Quiet {
    param([scriptblock] $Question, [hashtable] $Silent = @{})
    $CallsEnd = New-Deadline 10
    try {
        & $Question
    }
    catch {
        $Silent.silent = $true
        Write-Log "notice: $_"
    }
}

# An interruption, mostly one after which the machine is back; nothing while there is more time than a drain takes: it
# may be known days ahead.
function Get-Interruption {
    param($Machine, [string] $NotBefore, [string] $Kind, [string] $Finish = 'none', [string] $Id = '')
    $seconds = Get-EventSeconds $NotBefore $Machine.drain ($Machine.drain.seconds + 60)
    if ($seconds -le $Machine.drain.seconds) {
        @{ seconds = $seconds; finish = $Finish; hook = ''; id = $Id; returns = (-split $Machine.drain.ends) -notcontains $Kind }
    }
}

# A spot machine is terminated after two minutes, whatever a hook says: there is nothing to extend. What EC2 recommends to
# rebalance is the group's affair: it starts another machine first.
function Get-AwsTermination {
    param($Machine, [hashtable] $Silent)
    $spot = Get-Quiet { Get-AwsMetadata 'spot/instance-action' 2 } $Silent
    $leaves = (Get-Quiet { Get-AwsMetadata 'autoscaling/target-lifecycle-state' 2 } $Silent) -like 'Terminated*'
    if ("$spot".TrimStart().StartsWith('{')) {
        return @{ seconds = $Machine.drain.spotSeconds; finish = $(if ($leaves) { 'lifecycle' } else { 'none' }); hook = '' }
    }
    if ($leaves) {
        return @{ seconds = $Machine.drain.seconds; finish = 'lifecycle'; hook = "$($Machine.lifecycle.terminateHook)" }
    }
    $found = Get-Quiet {
        $text = Get-AwsMetadata 'events/maintenance/scheduled' 2
        if ($text) {
            ConvertFrom-Json $text
        }
    } $Silent
    $found | Where-Object { $_ -and $_.State -eq 'active' } | ForEach-Object { Get-Interruption $Machine $_.NotBefore $_.Code } | Select-Object -First 1
}

# The first call enables the service, and may take two minutes (Azure documentation, scheduled events): the next round
# asks again.
function Get-AzureTermination {
    param($Machine, [hashtable] $Silent)
    $events = Get-Quiet {
        $list = (Get-AzureMetadata 'scheduledevents?api-version=2020-07-01' 2).PSObject.Properties['Events']
        if (-not $list) {
            throw 'the metadata service says nothing of events'
        }
        $list.Value
    } $Silent
    if (@($events | Where-Object { $_ }).Count -eq 0) {
        return
    }
    $own = Get-Quiet { Get-AzureMetadata 'instance/compute/name?api-version=2021-02-01&format=text' 2 -Text } $Silent
    $mine = @($events | Where-Object { $_ -and $own -and $_.Resources -contains $own })
    foreach ($item in @($mine | Where-Object { (-split $Machine.drain.ends) -contains $_.EventType })) {
        # Preempt comes 30 seconds ahead (Azure documentation, scheduled events), whatever this clock says.
        $most = if ($item.EventType -eq 'Preempt') { $Machine.drain.spotSeconds } else { $Machine.drain.seconds }
        return @{ seconds = Get-EventSeconds $item.NotBefore $Machine.drain $most; finish = 'event'; hook = ''; id = $item.EventId }
    }
    $mine | ForEach-Object {
        # One that has started has no time, and what this machine shares with others begins at its time.
        $finish = if ($_.NotBefore -and @($_.Resources).Count -eq 1) { 'event' } else { 'none' }
        Get-Interruption $Machine $_.NotBefore $_.EventType $finish $_.EventId
    } | Select-Object -First 1
}

# Seconds left, the action to take at the end, the hook that waits meanwhile, and whether the machine returns; nothing
# while it may stay, and where nobody says, which $Silent then holds. Two attempts per request: an unreachable service
# must not take more time than a notice leaves, and the next round asks again.
$terminations = @{ aws = { Get-AwsTermination @args }; azure = { Get-AzureTermination @args } }
function Get-Termination {
    param($Machine, [hashtable] $Silent = @{})
    $question = $terminations[$Machine.cloud.kind]
    & $question $Machine $Silent
}

# Seconds until an event starts by its host's clock, less a reserve. A started event has no time left; a missing time, and
# one that cannot be read, mean now.
function Get-EventSeconds {
    param([string] $NotBefore, $Drain, [int] $AtMost = $Drain.seconds)
    $culture = [Globalization.CultureInfo]::InvariantCulture
    $styles = [Globalization.DateTimeStyles] 'AdjustToUniversal, AssumeUniversal'
    $start = [DateTime]::MinValue
    if (-not [DateTime]::TryParse($NotBefore, $culture, $styles, [ref] $start)) {
        return $Drain.spotSeconds
    }
    [Math]::Max(5, [Math]::Min($AtMost, [int] ($start - [DateTime]::UtcNow - $clock.host).TotalSeconds - $Drain.reserveSeconds))
}

# Lets the cloud proceed: there is nothing left to wait for.
function Complete-Termination {
    param($Machine, [hashtable] $Termination)
    $CallsEnd = New-Deadline 60
    if ($Termination.finish -eq 'lifecycle' -and $Machine.lifecycle) {
        Send-Lifecycle $Machine $Machine.lifecycle.terminateHook 'CompleteLifecycleAction' 'CONTINUE'
    }
    if ($Termination.finish -eq 'event') {
        $body = @{ StartRequests = @(@{ EventId = $Termination.id }) } | ConvertTo-Json -Depth 3 -Compress
        Invoke-Web @{ Method = 'POST'; Uri = 'http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01'; Headers = @{ Metadata = 'true' }; ContentType = 'application/json'; Body = $body } | Out-Null
    }
}
