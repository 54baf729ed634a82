# AWS: in a task of its own, fetches the scripts that do not fit into user data, verifies their digest, installs them
# and runs the entry.
param(
    # In the task, which user data, each start of Windows and the scheduler start until all is handed over.
    [switch] $Resume
)
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/files.ps1"
. "$PSScriptRoot/web.ps1"
. "$PSScriptRoot/task.ps1"

# Retries until the digest is right: the role's permissions may take minutes to reach S3.
function Get-Scripts {
    param($Machine, $Object, [string] $File)
    $pauses = @($Machine.retry.pauseSeconds)
    for ($attempt = 0; $true; $attempt += 1) {
        if ((Get-Digest $File 'SHA256') -eq $Object.sha256) {
            return
        }
        if ($attempt -gt 0) {
            Start-Sleep -Seconds $pauses[[Math]::Min($attempt, $pauses.Count) - 1]
        }
        try {
            Invoke-AwsFetch $Machine.cloud $Object $File
            if ((Get-Digest $File 'SHA256') -ne $Object.sha256) {
                Write-Notice "the scripts that were fetched have the SHA-256 $(Get-Digest $File 'SHA256'), expected $($Object.sha256)" 'Error'
            }
        }
        catch {
            Write-Log "scripts not fetched: $_"
            # Without the response body, which may echo what was sent: the serial console shows this to everyone who may
            # read it.
            Write-Notice "attempt $attempt to fetch the scripts failed; fetch.log has the reason" 'Warning'
        }
    }
}

# Writes the files of an archive: JSON, path to text.
function Expand-Scripts {
    param([string] $File)
    $archive = Get-Machine $File
    foreach ($item in $archive.files.PSObject.Properties) {
        Write-Text $item.Name $item.Value
    }
}

# True once the bootstrap has registered its tasks: from then on they carry on without this script.
function Test-HandedOver {
    param($Machine)
    @($Machine.tasks | Where-Object { -not (Get-ScheduledTask -TaskName $_.name -ErrorAction SilentlyContinue) }).Count -eq 0
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
if (-not $Resume) {
    # User data runs at the first start only, and the role's permissions may take minutes: a restart in between must not
    # end the bootstrap. Nor may user data last until then: EC2Launch's task that starts the SSM agent comes after it,
    # and tasks run one after another (EC2 User Guide, "EC2Launch v2 concepts"), so that nobody could look into a
    # machine that fetches nothing.
    Register-StartTask 'fenestra-fetch' "$PSScriptRoot\fetch.ps1 -Resume" 5
    Start-ScheduledTask -ErrorAction Stop -TaskName 'fenestra-fetch'
    exit 0
}
Start-Log $machine 'fetch'
Initialize-Web
$code = 0
if (-not (Test-HandedOver $machine)) {
    $file = "$PSScriptRoot/archive.json"
    Get-Scripts $machine (Get-Machine "$PSScriptRoot/scripts.json") $file
    Expand-Scripts $file
    & "$PSScriptRoot/bootstrap.ps1"
    $code = $LASTEXITCODE
}
if ($code -eq 0) {
    # From here on the tasks carry on; this one would start a PowerShell for nothing.
    Unregister-ScheduledTask -TaskName 'fenestra-fetch' -Confirm:$false -ErrorAction SilentlyContinue
}
exit $code
