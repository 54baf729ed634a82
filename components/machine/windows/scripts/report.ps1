# Azure: reports the state of the join as part of the bootstrap extension's status, which the cloud shows without access
# to the machine.

# What an exit code means, in words.
function Get-ReportText {
    param($Machine, [int] $Code)
    if ($Code -eq 0) {
        return 'the node has joined'
    }
    if ($Code -eq $Machine.exitCodes.reboot) {
        return 'the machine restarts to finish the installation of features'
    }
    $stage = $Machine.stages | Where-Object { $_.exitCode -eq $Code }
    if ($stage) {
        return "stage $($stage.name) failed with exit code $Code; it is tried again"
    }
    "the bootstrap failed with exit code $Code; it is tried again"
}

# An object's fields as a hashtable. Windows PowerShell serialises an array that it has read back as an object, so only
# new ones are written.
function Get-Fields {
    param($From)
    $fields = [ordered] @{}
    foreach ($property in $From.PSObject.Properties) {
        $fields[$property.Name] = $property.Value
    }
    $fields
}

# Adds the outcome to the newest status of the extension, or replaces the previous one. The status itself stays as the
# extension set it: an error there would count as failed provisioning. The guest agent polls the file.
function Set-Report {
    param($Machine, [int] $Code)
    if (-not $Machine.statusFiles) {
        return
    }
    try {
        $file = Get-ChildItem -Path $Machine.statusFiles | Sort-Object -Property LastWriteTimeUtc | Select-Object -Last 1
        if ($null -eq $file) {
            throw "no file $($Machine.statusFiles)"
        }
        $answer = ConvertFrom-Json (Read-Text $file.FullName)
        $first = Get-Fields (@($answer)[0])
        $status = Get-Fields $first.status
        $state = 'error'
        if (0, $Machine.exitCodes.reboot -contains $Code) {
            $state = 'success'
        }
        $text = @{ lang = 'en-US'; message = '{0:o} {1}' -f [DateTime]::UtcNow, (Get-ReportText $Machine $Code) }
        $own = @{ name = 'fenestra'; status = $state; code = $Code; formattedMessage = $text }
        $status['substatus'] = @($status.substatus | Where-Object { $_ -and $_.name -ne 'fenestra' }) + $own
        $first['status'] = $status
        Write-Text $file.FullName "[$(ConvertTo-Json -Depth 10 -Compress -InputObject $first)]"
    }
    catch {
        # Events and the serial console have the same.
        Write-Log "status of the extension not written: $_"
    }
}
