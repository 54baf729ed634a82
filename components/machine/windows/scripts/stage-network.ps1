# Network of this boot: stale state cleared, external HNS network made, metadata route kept, firewall open where it must be.
param(
    [object] $Machine
)
. "$PSScriptRoot/hns.ps1"
. "$PSScriptRoot/routes.ps1"
$network = $Machine.network

# What the last boot left: endpoints and load balancers of containers that are gone, and networks that flanneld makes anew.
function Clear-Hns {
    foreach ($kind in 'policylists', 'endpoints') {
        foreach ($item in @(Invoke-Hns GET "/$kind/" | Where-Object { $_.ID })) {
            Invoke-Hns DELETE "/$kind/$($item.ID)" | Out-Null
        }
    }
    foreach ($item in @(Invoke-Hns GET '/networks/' | Where-Object { $_.ID })) {
        if ($network.external.name, 'nat' -notcontains $item.Name) {
            Invoke-Hns DELETE "/networks/$($item.ID)" | Out-Null
        }
    }
}

# The service's own file is the last resort when it does not answer or does not let go: the virtual switch may stay behind without its network.
function Reset-Hns {
    Stop-Service -Force -Name hns
    Remove-Item -Force -LiteralPath "$env:ProgramData/Microsoft/Windows/HNS/HNS.data" -ErrorAction SilentlyContinue
    Start-Service -Name hns
}

# A service that has just been started says it runs before it answers.
function Test-Hns {
    try {
        Invoke-Hns GET '/networks/' | Out-Null
        $true
    }
    catch {
        $false
    }
}

# Reservations of pods that did not survive the boot; kube-proxy's own stays.
function Clear-Reservations {
    foreach ($file in @(Get-ChildItem -File -LiteralPath $network.reservations -ErrorAction SilentlyContinue)) {
        if ($file.Name -match '^\d+\.\d+\.\d+\.\d+$' -and (Get-Content -TotalCount 1 -LiteralPath $file.FullName) -ne $network.sourceVip.container) {
            Remove-Item -Force -LiteralPath $file.FullName
        }
    }
}

# The first HNS network moves the adapter into a virtual switch, which cuts every connection: made now, it cuts none that matters.
function New-ExternalNetwork {
    param(
        [string] $Adapter
    )
    $body = @{
        Type               = 'Overlay'
        Name               = $network.external.name
        NetworkAdapterName = $Adapter
        Subnets            = @(@{
            AddressPrefix  = $network.external.prefix
            GatewayAddress = $network.external.gateway
            Policies       = @(@{ Type = 'VSID'; VSID = $network.external.vsid })
        })
    }
    Invoke-Hns POST '/networks/' ($body | ConvertTo-Json -Depth 10 -Compress) | Out-Null
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

$route = Wait-Until { Get-DefaultRoute } 180 'an adapter with a default route'
if ($null -eq (Get-HnsNetworkNamed $network.external.name)) {
    Write-Log "external network on $($route.InterfaceAlias)"
    New-ExternalNetwork $route.InterfaceAlias
    Wait-Until { (Get-DefaultRoute).InterfaceAlias -like 'vEthernet*' } 120 'the default route to move behind the virtual switch' | Out-Null
}
try {
    Wait-Until { (Test-Hns) -and (Get-HnsNetworkNamed $network.external.name).ManagementIP } 120 'the external network to get its address' | Out-Null
}
catch {
    # One that came with an image of another machine is bound to an adapter that is not here: the next attempt makes it anew.
    $external = Get-HnsNetworkNamed $network.external.name
    if ($external) {
        Invoke-Hns DELETE "/networks/$($external.ID)" | Out-Null
    }
    throw
}
Repair-Routes $network.routes | Out-Null
foreach ($rule in $network.firewall) {
    Get-NetFirewallRule -Name $rule.name -ErrorAction SilentlyContinue | Remove-NetFirewallRule
    New-NetFirewallRule -Name $rule.name -DisplayName $rule.name -Direction Inbound -Action Allow -Profile Any -Protocol $rule.protocol -LocalPort $rule.port | Out-Null
}
