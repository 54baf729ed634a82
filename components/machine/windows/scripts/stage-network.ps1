# Network of this boot: clears stale state, repairs routes, opens the firewall. flanneld creates the pod network.
param(
    [object] $Machine
)
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
$network = $Machine.network

# Leftovers of the last boot: endpoints and load balancers of containers that are gone, and networks that flanneld recreates.
function Clear-Hns {
    foreach ($kind in 'policylists', 'endpoints') {
        foreach ($item in @(Invoke-Hns GET "/$kind/" | Where-Object { $_.ID })) {
            Invoke-Hns DELETE "/$kind/$($item.ID)" | Out-Null
        }
    }
    foreach ($item in @(Invoke-Hns GET '/networks/' | Where-Object { $_.ID -and $_.Name -ne 'nat' })) {
        Invoke-Hns DELETE "/networks/$($item.ID)" | Out-Null
    }
}

# Deleting the service's data file is the last resort when it does not respond or does not delete: the virtual switch may stay behind without its
# network.
function Reset-Hns {
    Stop-Service -Force -Name hns
    Remove-Item -Force -LiteralPath "$env:ProgramData/Microsoft/Windows/HNS/HNS.data" -ErrorAction SilentlyContinue
    Start-Service -Name hns
}

# A service that was just started reports running before it responds.
function Test-Hns {
    try {
        Invoke-Hns GET '/networks/' | Out-Null
        $true
    }
    catch {
        $false
    }
}

# Reservations of pods that did not survive the boot; kube-proxy's is kept.
function Clear-Reservations {
    foreach ($file in @(Get-ChildItem -File -LiteralPath $network.reservations -ErrorAction SilentlyContinue)) {
        if ($file.Name -match '^\d+\.\d+\.\d+\.\d+$' -and (Get-Content -TotalCount 1 -LiteralPath $file.FullName) -ne $network.sourceVip.container) {
            Remove-Item -Force -LiteralPath $file.FullName
        }
    }
}

# flanneld's own network does not survive a restart of Windows, but another may: the adapter comes back some seconds after the last overlay
# network was deleted (rancher/rke2, pkg/windows/utils.go, waits 30 s). If it does not, flanneld's pod copes.
function Wait-Adapter {
    Wait-Until { Get-DefaultRoute } 180 'an adapter with a default route' | Out-Null
    try {
        Wait-Until { (Get-DefaultRoute) -and -not (Test-VirtualSwitch) } 30 'the adapter to come out of the virtual switch' | Out-Null
    }
    catch {
        Write-Log "a virtual switch stayed behind: $_"
    }
}

Set-Service -Name hns -StartupType Automatic
Start-Service -Name hns
try {
    Wait-Until { Test-Hns } 60 'HNS to answer' | Out-Null
    Clear-Hns
}
catch {
    Write-Log "HNS does not clear: $_"
    Reset-Hns
}
Clear-Reservations
Remove-Item -Force -LiteralPath @($network.conflist, $network.subnetFile) -ErrorAction SilentlyContinue
Wait-Adapter
Repair-Routes $network.routes | Out-Null
foreach ($rule in $network.firewall) {
    Get-NetFirewallRule -Name $rule.name -ErrorAction SilentlyContinue | Remove-NetFirewallRule
    New-NetFirewallRule -Name $rule.name -DisplayName $rule.name -Direction Inbound -Action Allow -Profile Any -Protocol $rule.protocol -LocalPort $rule.port | Out-Null
}
