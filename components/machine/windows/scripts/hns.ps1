# Windows' Host Networking Service by the call that its own tools use; the module for it is not on every image.

function Invoke-Hns {
    param(
        [string] $Method,
        [string] $Path,
        [string] $Body = ''
    )
    if (-not ('Fenestra.Hns' -as [type])) {
        $call = @(
            '[DllImport("vmcompute.dll")] public static extern void HNSCall('
            '[MarshalAs(UnmanagedType.LPWStr)] string method,'
            '[MarshalAs(UnmanagedType.LPWStr)] string path,'
            '[MarshalAs(UnmanagedType.LPWStr)] string request,'
            '[MarshalAs(UnmanagedType.LPWStr)] out string response);'
        )
        Add-Type -Namespace Fenestra -Name Hns -MemberDefinition "$call"
    }
    $text = ''
    [Fenestra.Hns]::HNSCall($Method, $Path, $Body, [ref] $text)
    # The call returns nothing at all while the service stops or starts.
    if (-not $text) {
        throw "HNS $Method ${Path}: no answer"
    }
    $answer = $text | ConvertFrom-Json
    if (-not $answer.Success) {
        throw "HNS $Method ${Path}: $($answer.Error) $text"
    }
    $answer.Output
}

function Get-HnsNetworkNamed {
    param(
        [string] $Name
    )
    @(Invoke-Hns GET '/networks/') | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}
