# Settings that a node can work without, for the stages that make them.

# What was not made, and whether a value changed that drivers read when they start.
$seen = @{ failed = @(); changed = $false }

# Applies a setting that a node can work without: images, group policies and agents differ, and a node with a default is
# better than none.
function Invoke-Optional {
    param([string] $What, [scriptblock] $Body)
    try {
        & $Body | Out-Null
    }
    catch {
        Write-Log "${What}: $_"
        $seen.failed += $What
    }
}

# Writes a registry value. True when it was different or missing before.
function Set-Value {
    param([string] $Path, [string] $Name, [string] $Type, $Value)
    if (-not (Test-Path -LiteralPath $Path)) {
        New-Item -Force -Path $Path | Out-Null
    }
    $before = (Get-ItemProperty -LiteralPath $Path -ErrorAction SilentlyContinue).$Name
    New-ItemProperty -Force -LiteralPath $Path -Name $Name -PropertyType $Type -Value $Value | Out-Null
    $before -ne $Value
}

# Writes the values of registry keys.
function Set-Keys {
    param([object[]] $Keys)
    foreach ($key in $Keys) {
        foreach ($value in $key.values.PSObject.Properties) {
            Invoke-Optional "registry value $($value.Name) below $($key.path)" {
                if ((Set-Value $key.path $value.Name $key.type $value.Value) -and $key.reboot) {
                    $seen.changed = $true
                }
            }
        }
    }
}

# Registry values that take effect at the reboot of the features. A torn list of the fixes is an error: without them the
# network of pods breaks later.
function Get-EarlyKeys {
    param($Machine)
    $fixes = (Get-Machine $Machine.paths.repairs).($Machine.os.name)
    if (-not $fixes) {
        throw "$($Machine.paths.repairs) has no fixes for $($Machine.os.name)"
    }
    $Machine.os.registry | Where-Object { $_.reboot }
    $fixes
}

function Write-Failed {
    if ($seen.failed.Count -gt 0) {
        Write-Notice "settings not made, the node goes on without: $($seen.failed -join ', ')" 'Warning'
    }
}
