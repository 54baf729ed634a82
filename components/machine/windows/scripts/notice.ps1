# Whether the cloud is about to terminate this machine: polled every few seconds, since there is no push notification.

# A value of the metadata service, empty when it does not answer: no path that fails or hangs hides what another says.
function Get-Quiet {
    param(
        [scriptblock] $Question
    )
    $CallsEnd = New-Deadline 10
    try {
        & $Question
    }
    catch {
        Write-Log "notice: $_"
    }
}

# Seconds left, the action to take at the end, and the hook that waits meanwhile; nothing while the machine may stay. Two attempts per request:
# an unreachable service must not take more time than a notice leaves, and the next round asks again.
function Get-Termination {
    param(
        [object] $Machine
    )
    if ($Machine.cloud.kind -eq 'aws') {
        $spot = Get-Quiet { Get-AwsMetadata 'spot/instance-action' 2 }
        $leaves = (Get-Quiet { Get-AwsMetadata 'autoscaling/target-lifecycle-state' 2 }) -like 'Terminated*'
        # A spot machine is terminated after two minutes, whatever a hook says: there is nothing to extend.
        if ("$spot".TrimStart().StartsWith('{')) {
            $finish = 'none'
            if ($leaves) {
                $finish = 'lifecycle'
            }
            return @{ seconds = $Machine.drain.spotSeconds; finish = $finish; hook = '' }
        }
        if ($leaves) {
            return @{ seconds = $Machine.drain.seconds; finish = 'lifecycle'; hook = "$($Machine.lifecycle.terminateHook)" }
        }
        return
    }
    # The first call enables the service, and may take two minutes (Azure documentation, scheduled events): the next round asks again.
    $events = (Get-Quiet { Get-AzureMetadata 'scheduledevents?api-version=2020-07-01' 2 }).Events
    if (@($events | Where-Object { $_ }).Count -eq 0) {
        return
    }
    $own = Get-Quiet { Get-AzureMetadata 'instance/compute/name?api-version=2021-02-01&format=text' 2 -Text }
    foreach ($item in @($events | Where-Object { $_ })) {
        if ($Machine.drain.events -contains $item.EventType -and $item.Resources -contains $own) {
            return @{ seconds = Get-EventSeconds $item.NotBefore $Machine.drain; finish = 'event'; hook = ''; id = $item.EventId }
        }
    }
}

# Seconds until an Azure event starts, less a reserve. A started event has no time left; a missing time, and one that cannot be read, mean now.
function Get-EventSeconds {
    param(
        [string] $NotBefore,
        [object] $Drain
    )
    $culture = [Globalization.CultureInfo]::InvariantCulture
    $styles = [Globalization.DateTimeStyles] 'AdjustToUniversal, AssumeUniversal'
    $start = [DateTime]::MinValue
    if (-not [DateTime]::TryParse($NotBefore, $culture, $styles, [ref] $start)) {
        return $Drain.spotSeconds
    }
    [Math]::Max(5, [Math]::Min($Drain.seconds, [int] ($start - [DateTime]::UtcNow).TotalSeconds - $Drain.reserveSeconds))
}

# Lets the cloud proceed: there is nothing left to wait for.
function Complete-Termination {
    param(
        [object] $Machine,
        [hashtable] $Termination
    )
    $CallsEnd = New-Deadline 60
    if ($Termination.finish -eq 'lifecycle' -and $Machine.lifecycle) {
        Send-Lifecycle $Machine $Machine.lifecycle.terminateHook 'CompleteLifecycleAction' 'CONTINUE'
    }
    if ($Termination.finish -eq 'event') {
        $body = @{ StartRequests = @(@{ EventId = $Termination.id }) } | ConvertTo-Json -Depth 3 -Compress
        Invoke-Web @{ Method = 'POST'; Uri = 'http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01'; Headers = @{ Metadata = 'true' }; ContentType = 'application/json'; Body = $body } | Out-Null
    }
}
