# Routes and HNS of a Windows machine in a few lines, for the tests of the network.

# The table of this boot, what is kept for the next one, and what was taken out.
$table = @{ routes = @(); kept = @(); removed = @() }
function New-Route {
    param(
        [string] $Prefix,
        [int] $Index,
        [string] $NextHop,
        [string] $Alias = "nic$Index"
    )
    New-Object PSObject -Property @{ DestinationPrefix = $Prefix; InterfaceIndex = $Index; NextHop = $NextHop; RouteMetric = 0; InterfaceMetric = 15; InterfaceAlias = $Alias }
}
function Get-NetRoute {
    param(
        [string] $AddressFamily,
        [string] $DestinationPrefix,
        [string] $PolicyStore = 'ActiveStore'
    )
    $from = $table.routes
    if ($PolicyStore -eq 'PersistentStore') {
        $from = $table.kept
    }
    $from | Where-Object { $_.DestinationPrefix -eq $DestinationPrefix }
}
# Without a store it writes to both, as Windows does.
function New-NetRoute {
    param(
        [string] $DestinationPrefix,
        [int] $InterfaceIndex,
        [string] $NextHop,
        [int] $RouteMetric,
        [string] $PolicyStore
    )
    if ($PolicyStore -ne 'PersistentStore') {
        $table.routes += New-Route $DestinationPrefix $InterfaceIndex $NextHop
    }
    if ($PolicyStore -ne 'ActiveStore') {
        $table.kept += New-Route $DestinationPrefix $InterfaceIndex $NextHop
    }
}
function Remove-NetRoute {
    param(
        [string] $DestinationPrefix,
        [string] $PolicyStore,
        [switch] $Confirm
    )
    $table.removed += "$PolicyStore $DestinationPrefix"
    if ($PolicyStore -ne 'PersistentStore') {
        $table.routes = @($table.routes | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix })
    }
    if ($PolicyStore -ne 'ActiveStore') {
        $table.kept = @($table.kept | Where-Object { $_.DestinationPrefix -ne $DestinationPrefix })
    }
}

# Stands for the library of HNS: a call is handed to a block of PowerShell, which gives the text that HNS would.
if (-not ('Fenestra.Hns' -as [type])) {
    Add-Type -TypeDefinition '
namespace Fenestra
{
    public static class Hns
    {
        public static System.Func<string, string, string, string> Answer;
        public static void HNSCall(string method, string path, string request, out string response)
        {
            response = Answer(method, path, request);
        }
    }
}'
}
