# Routes, the node's subnet, the source address of kube-proxy; the token's place, and a kubeconfig that names the API itself.
. "$PSScriptRoot/fakes.ps1"
. "$scripts/lib.ps1"
. "$scripts/routes.ps1"
. "$scripts/pod.ps1"
. "$scripts/start-kube-proxy.ps1"

$metadata = '169.254.169.254/32'
# Destination, adapter and gateway of each route; the default route is over adapter 7.
$clock = '169.254.169.123/32'
foreach ($case in Read-Table @'
title|has[]|made[]|removed[]
that are right are left alone|METADATA 7 10.0.0.1, CLOCK 7 10.0.0.1||
that are lost are made, and no other|CLOCK 7 10.0.0.1|METADATA|
over the adapter of before are replaced|METADATA 4 10.0.9.1, CLOCK 4 10.0.9.1|METADATA, CLOCK|ActiveStore METADATA, ActiveStore CLOCK
over the gateway of before are replaced|METADATA 7 10.0.9.1, CLOCK 7 10.0.0.1|METADATA|ActiveStore METADATA
over an adapter that is gone are taken out|METADATA 7 10.0.0.1, METADATA 4 10.0.9.1, CLOCK 7 10.0.0.1|METADATA|ActiveStore METADATA
of Azure's platform are left alone|168.63.129.16/32 7 10.0.0.1, CLOCK 7 10.0.0.1|METADATA|
'@.Replace('METADATA', $metadata).Replace('CLOCK', $clock)) {
    Test "routes $($case.title); what is made is for this boot only" {
        Reset-Pc
        $fakePc.routes += @($case.has | ForEach-Object { $words = -split $_; New-Route $words[0] $words[1] $words[2] })
        $fakePc.kept = @($case.made | ForEach-Object { New-Route $_ 4 '10.0.9.1' })
        $others = @($fakePc.routes | Where-Object { $_.DestinationPrefix -notlike '169.254.*' }).Count
        Assert-Equal @(Repair-Routes @($metadata, $clock)) $case.made
        Assert-Equal @($fakePc.removed -like 'Active*') $case.removed
        Assert-Equal @($fakePc.kept) @()
        Assert-Equal @($fakePc.routes | ForEach-Object { "$($_.DestinationPrefix) $($_.InterfaceIndex) $($_.NextHop)" } | Where-Object { $_ -like '169.254.*' } | Sort-Object) @("$clock 7 10.0.0.1", "$metadata 7 10.0.0.1")
        Assert-Equal ($fakePc.routes.Count) ($others + 2)
    }
}
Test 'a route that somebody else makes meanwhile prevents no other' {
    Reset-Pc @{ call = "New-NetRoute $metadata"; way = 'Instance MSFT_NetRoute already exists' }
    Assert-Equal @(Repair-Routes @($metadata, '169.254.169.123/32')) @('169.254.169.123/32')
}
Test 'the default route with the lowest metrics counts, one without a gateway never' {
    Reset-Pc
    $dear = New-Route '0.0.0.0/0' 5 '10.0.0.1'
    $dear.RouteMetric = 500
    $slow = New-Route '0.0.0.0/0' 6 '10.0.0.1'
    $slow.InterfaceMetric = 500
    $fakePc.routes = @($dear, $slow, (New-Route '0.0.0.0/0' 3 '0.0.0.0'), (New-Route '0.0.0.0/0' 7 '10.0.0.2'))
    Assert-Equal (Get-DefaultRoute).InterfaceIndex 7
}
Test 'an adapter without a lasting address has no default route' {
    Reset-Pc
    foreach ($address in @{ AddressState = 'Tentative'; IPAddress = '10.0.0.9' }, @{ AddressState = 'Preferred'; IPAddress = '169.254.7.7' }, $fakePc.address) {
        $fakePc.address = $address
        Assert-Equal ($null -ne (Get-DefaultRoute)) ($address.AddressState -eq 'Preferred' -and $address.IPAddress -eq '10.0.0.9')
    }
}
Test 'networks of addresses' {
    foreach ($case in '10.244.3.1/24 10.244.3.0', '10.244.3.77/26 10.244.3.64', '10.244.3.1/16 10.244.0.0', '10.244.3.1/32 10.244.3.1') {
        $address, $bits, $network = $case -split '[/ ]'
        Assert-Equal (Get-NetworkAddress $address $bits) $network
    }
}

function New-Case {
    Reset-Pc @{ programs = @{ 'host-local.exe' = $fakeHostLocal } }
    New-Data
}
Test 'the source address is kept across restarts' {
    $machine = New-Case
    Assert-Equal (Get-SourceVip $machine '10.244.3.0/24') '10.244.3.2'
    Assert-Equal (Get-SourceVip $machine '10.244.3.0/24') '10.244.3.2'
    Assert-Equal $fakePc.deeds @('DEL', 'ADD')
}
Test 'an address that a pod holds now, or of another subnet, is not used' {
    $machine = New-Case
    Get-SourceVip $machine '10.244.3.0/24'
    Write-Text "$($machine.network.reservations)/10.244.3.2" 'a-pod'
    Assert-Equal (Get-SourceVip $machine '10.244.3.0/24') '10.244.3.3'
    Assert-Equal (Get-SourceVip $machine '10.244.8.0/24') '10.244.8.4'
}
Test 'a pod waits for its program, and says for what when it does not come' {
    $program = "$temp/kube-proxy.exe"
    Assert-Throws { Wait-Program $program 0 } "^waited 0 s in vain for the stage programs to bring .*kube-proxy\.exe$"
    Write-Text $program 'program'
    Wait-Program $program 0
}

# A pod whose token lies below the sandbox's folder; with -Bound also at the mount path itself.
function New-Pod {
    param([switch] $Bound)
    $machine = New-Data
    $path = $machine.paths.serviceAccountToken
    $env:CONTAINER_SANDBOX_MOUNT_POINT = "$($machine.folder)/sandbox"
    Write-Text (Join-Path $env:CONTAINER_SANDBOX_MOUNT_POINT ($path -replace '^[A-Za-z]:', '')) 'below'
    if ($Bound) {
        Write-Text $path 'bound'
    }
    Write-Text $machine.paths.node '{"name":"i-1","server":"https://api.demo:6443"}'
    $machine
}

Test 'the token is at the mount path where it is bound, else below the sandbox''s folder' {
    Assert-Equal (Read-Text (Get-TokenFile (New-Pod -Bound).paths.serviceAccountToken)) 'bound'
    Assert-Equal (Read-Text (Get-TokenFile (New-Pod).paths.serviceAccountToken)) 'below'
    Assert-Throws { Get-TokenFile "$temp/nowhere" } '^no service-account token at .*nowhere$'
}
Test 'the kubeconfig has the token''s file, never the token' {
    $machine = New-Pod -Bound
    Write-PodKubeconfig $machine "$($machine.folder)/flanneld.conf"
    $text = [IO.File]::ReadAllText("$($machine.folder)/flanneld.conf")
    Assert-False $text.Contains('bound')
    # No byte order mark, which the client would take for a part of it.
    Assert-Equal ([IO.File]::ReadAllBytes("$($machine.folder)/flanneld.conf"))[0] ([int] [char] '{')
    Assert-Equal ($text | ConvertFrom-Json).users @(@{ name = 'pod'; user = @{ tokenFile = $machine.paths.serviceAccountToken } })
}
Complete-Tests
