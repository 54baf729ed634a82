# In place of the library of HNS: a block of PowerShell answers each call.
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
