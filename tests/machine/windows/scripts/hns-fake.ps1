# Stands for the library of HNS: a call is handed to a block of PowerShell, which gives the text that HNS would.
if (-not ('Fenestra.Hns' -as [type])) {
    Add-Type -TypeDefinition '
namespace Fenestra
{
    public static class Hns
    {
        public static System.Func<string, string, string, string> Answer;
        public static string Call(string method, string path, string request, int milliseconds)
        {
            return Answer(method, path, request);
        }
    }
}'
}
