# Network of this boot: clears stale state, repairs routes, opens the firewall. flanneld creates the pod network.
param($Machine)
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
$network = $Machine.network

# Leftovers of the last boot: endpoints and load balancers of containers that are gone, and networks that flanneld
# recreates.
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

# Container that has reserved an address: the first line of its file.
function Get-Owner {
    param([string] $Path)
    ((Read-Text $Path) -split "`r?`n")[0]
}

# Reservations of pods that did not survive the boot; kube-proxy's is kept.
function Clear-Reservations {
    foreach ($file in @(Get-ChildItem -File -LiteralPath $network.reservations -ErrorAction SilentlyContinue)) {
        if ($file.Name -match '^\d+\.\d+\.\d+\.\d+$' -and (Get-Owner $file.FullName) -ne $network.sourceVip.container) {
            Remove-Item -Force -LiteralPath $file.FullName
        }
    }
}

# flanneld's own network does not survive a restart of Windows, but another may: the adapter comes back some seconds
# after the last overlay network was deleted (rancher/rke2, pkg/windows/utils.go, waits 30 s). If it does not,
# flanneld's pod copes.
function Wait-Adapter {
    Wait-Until { Get-DefaultRoute } 180 'an adapter with a default route' | Out-Null
    try {
        Wait-Until { (Get-DefaultRoute) -and -not (Test-VirtualSwitch) } 30 'the adapter to come out of the virtual switch' | Out-Null
    }
    catch {
        Write-Log "a virtual switch stayed behind: $_"
    }
}

# Mappings of shares that did not come back with the boot: a driver would make its own beside the stale one, which fails
# (kubernetes-csi/csi-driver-smb#1219). The kubelet has the others made again.
function Clear-Shares {
    try {
        Invoke-Wmi {
            foreach ($mapping in @(Get-SmbGlobalMapping -CimSession $wmi -ErrorAction Stop | Where-Object { "$($_.Status)" -ne 'OK' })) {
                Remove-SmbGlobalMapping -CimSession $wmi -RemotePath $mapping.RemotePath -Force -ErrorAction Stop
                Write-Log "removed the mapping of $($mapping.RemotePath), which is $($mapping.Status)"
            }
        }
    }
    catch {
        Write-Log "mappings of shares are not cleared: $_"
    }
}

if (-not (Get-Service -Name hns -ErrorAction SilentlyContinue)) {
    # A restart of Windows may have rolled the features back.
    Clear-Stages $Machine 'features'
    throw 'there is no service hns: the features are installed again'
}
Set-Service -Name hns -StartupType Automatic
Start-Within hns
try {
    Wait-Until { Test-Hns } 60 'HNS to answer' | Out-Null
    Clear-Hns
}
catch {
    # The last resort: the virtual switch may stay behind without its network.
    Write-Log "HNS does not clear: $_"
    Restart-Hns -Empty
}
Clear-Reservations
Clear-Shares
# Of this boot, where the stage is repeated: they outlive containerd, and what they have made is gone. Their pods begin
# anew with the kubelet.
Get-Process -Name 'flanneld', 'kube-proxy' -ErrorAction SilentlyContinue | Stop-Process -Force
Remove-Item -Force -LiteralPath @($network.conflist, $network.subnetFile) -ErrorAction SilentlyContinue
Wait-Adapter
Repair-Routes $network.routes | Out-Null
foreach ($rule in $network.firewall) {
    Invoke-Wmi {
        Get-NetFirewallRule -CimSession $wmi -Name $rule.name -ErrorAction SilentlyContinue | Remove-NetFirewallRule -CimSession $wmi
        New-NetFirewallRule -CimSession $wmi -Name $rule.name -DisplayName $rule.name -Direction Inbound -Action Allow -Profile Any -Protocol $rule.protocol -LocalPort $rule.port
    } | Out-Null
}
