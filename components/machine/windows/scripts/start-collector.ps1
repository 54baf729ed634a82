# Entry of the log collector's HostProcess pod: runs the program on the node's disk with the configuration that the pod
# mounts.
$ErrorActionPreference = 'Stop'
. "$PSScriptRoot/lib.ps1"
. "$PSScriptRoot/pod.ps1"

# Variables with the path of a mounted file: below the sandbox's folder where containerd cannot bind it, as with the
# token of the API.
function Resolve-MountedFiles {
    param([string[]] $Names)
    foreach ($name in $Names) {
        $path = [Environment]::GetEnvironmentVariable($name)
        if ($path) {
            [Environment]::SetEnvironmentVariable($name, (Get-TokenFile $path))
        }
    }
}

if ($MyInvocation.InvocationName -eq '.') {
    return
}
$machine = Get-Machine
Wait-Program $machine.logs.program $machine.logs.seconds
Resolve-MountedFiles $machine.logs.files
Write-PodKubeconfig $machine $machine.logs.kubeconfig
$env:KUBECONFIG = $machine.logs.kubeconfig
# Unlike the programs of the network, with no more priority than a workload.
$process = Start-Process -FilePath $machine.logs.program -ArgumentList '--config', (Format-Argument $env:COLLECTOR_CONFIG) -PassThru -NoNewWindow
$process.Handle | Out-Null
exit (Wait-PodProgram $process)
