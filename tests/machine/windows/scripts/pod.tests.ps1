# What the pods of flanneld and kube-proxy share: the token's place, and a kubeconfig that names the API itself.
. "$PSScriptRoot/harness.ps1"
. "$scripts/lib.ps1"
. "$scripts/pod.ps1"

# A pod whose token lies below the sandbox's folder; with -Bound also at the mount path itself.
function New-Pod {
    param([switch] $Bound)
    $folder = "$temp/$([Guid]::NewGuid())"
    $path = "$folder/mount/token"
    $env:CONTAINER_SANDBOX_MOUNT_POINT = "$folder/sandbox"
    $below = Join-Path $env:CONTAINER_SANDBOX_MOUNT_POINT ($path -replace '^[A-Za-z]:', '')
    New-Folder (Split-Path -Parent $below)
    Write-Text $below 'below'
    if ($Bound) {
        New-Folder (Split-Path -Parent $path)
        Write-Text $path 'bound'
    }
    Write-Text "$folder/node.json" '{"name":"i-1","server":"https://api.demo:6443"}'
    ConvertTo-Data @{ folder = $folder; paths = @{ node = "$folder/node.json"; clusterCa = "$folder/ca.crt"; serviceAccountToken = $path } }
}

Test 'the token is taken from the mount path when the runtime binds it there, else from below the folder of the sandbox, without the drive' {
    Assert-Equal (Read-Text (Get-TokenFile (New-Pod -Bound).paths.serviceAccountToken)) 'bound'
    Assert-Equal (Read-Text (Get-TokenFile (New-Pod).paths.serviceAccountToken)) 'below'
    Assert-Throws { Get-TokenFile "$temp/nowhere" } '^no service-account token at .*nowhere$'
}
Test 'the kubeconfig has the API''s name, the cluster''s certificate and the file of the token, which rotates, but never the token' {
    $machine = New-Pod -Bound
    Write-PodKubeconfig $machine "$($machine.folder)/flanneld.conf"
    $text = [IO.File]::ReadAllText("$($machine.folder)/flanneld.conf")
    Assert-False $text.Contains('bound')
    # No byte order mark, which the client would take for a part of it.
    Assert-Equal ([IO.File]::ReadAllBytes("$($machine.folder)/flanneld.conf"))[0] ([int] [char] '{')
    $config = $text | ConvertFrom-Json
    Assert-Equal @($config.apiVersion, $config.kind, $config.'current-context') @('v1', 'Config', 'node')
    Assert-Equal @($config.clusters.Count, $config.clusters[0].name, $config.clusters[0].cluster.server) @(1, 'cluster', 'https://api.demo:6443')
    Assert-Equal $config.clusters[0].cluster.'certificate-authority' $machine.paths.clusterCa
    Assert-Equal @($config.users.Count, $config.users[0].name, $config.users[0].user.tokenFile) @(1, 'pod', $machine.paths.serviceAccountToken)
    Assert-Equal @($config.contexts.Count, $config.contexts[0].name, $config.contexts[0].context.cluster, $config.contexts[0].context.user) @(1, 'node', 'cluster', 'pod')
}
Complete-Tests
