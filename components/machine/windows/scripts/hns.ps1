# Windows' Host Networking Service through the native call of its own tools; the PowerShell module is not on every
# image.

# The call has no timeout, and hanging is the usual way HNS fails: it runs on a separate thread, which is abandoned when
# it takes too long. At most three threads are abandoned, since they would never end.
function Initialize-Hns {
    if ('Fenestra.Hns' -as [type]) {
        return
    }
    $source = @(
        'using System; using System.Runtime.InteropServices; using System.Threading;'
        'namespace Fenestra { public static class Hns {'
        'static int waiting;'
        '[DllImport("vmcompute.dll")] static extern void HNSCall('
        '[MarshalAs(UnmanagedType.LPWStr)] string method,'
        '[MarshalAs(UnmanagedType.LPWStr)] string path,'
        '[MarshalAs(UnmanagedType.LPWStr)] string request,'
        '[MarshalAs(UnmanagedType.LPWStr)] out string response);'
        'public static string Call(string method, string path, string request, int milliseconds) {'
        'if (waiting > 2) { throw new TimeoutException("three calls have had no answer yet"); }'
        'string response = null;'
        'Exception error = null;'
        'Interlocked.Increment(ref waiting);'
        'Thread thread = new Thread(delegate() {'
        'try { HNSCall(method, path, request, out response); }'
        'catch (Exception caught) { error = caught; }'
        'Interlocked.Decrement(ref waiting); });'
        'thread.IsBackground = true;'
        'thread.Start();'
        'if (!thread.Join(milliseconds)) { throw new TimeoutException("no answer within " + milliseconds + " ms"); }'
        'if (error != null) { throw error; }'
        'return response; } } }'
    )
    Import-Source 'hns' "$source"
}

# Compiles C# once for all processes of this machine: that takes seconds, and a file is read in milliseconds. A file that
# cannot be loaded is made again; where none can be written, each process compiles for itself.
function Import-Source {
    param([string] $Name, [string] $Source)
    # Another text is another file.
    $hash = [Security.Cryptography.SHA256]::Create().ComputeHash([Text.Encoding]::UTF8.GetBytes($Source))
    $file = "$PSScriptRoot/$Name-$([BitConverter]::ToString($hash, 0, 4)).dll"
    foreach ($attempt in 1, 2) {
        try {
            if (Test-Program $file) {
                # By its bytes, which hold no file open.
                [Reflection.Assembly]::Load([IO.File]::ReadAllBytes($file)) | Out-Null
                return
            }
        }
        catch {
            Write-Log "$_"
        }
        if ($attempt -eq 1) {
            try {
                Add-Type -TypeDefinition $Source -OutputAssembly "$PSScriptRoot/$Name-$PID.dll" -OutputType Library
                Sync-File "$PSScriptRoot/$Name-$PID.dll"
                Move-File "$PSScriptRoot/$Name-$PID.dll" $file
            }
            catch {
                Write-Log "compiled for this process alone: $_"
            }
        }
    }
    Add-Type -TypeDefinition $Source
}

# Calls HNS. A minute is enough for the longest call, creating the first network.
function Invoke-Hns {
    param([string] $Method, [string] $Path, [string] $Body = '', [int] $Seconds = 60)
    Initialize-Hns
    try {
        $text = [Fenestra.Hns]::Call($Method, $Path, $Body, 1000 * $Seconds)
    }
    catch {
        throw "HNS $Method ${Path}: $($_.Exception.GetBaseException().Message)"
    }
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

# All of a kind, each with its id: half an answer is not that there is none.
function Get-HnsList {
    param([string] $Kind)
    foreach ($item in @(Invoke-Hns GET "/$Kind/" | Where-Object { $_ })) {
        if (-not $item.ID) {
            throw "HNS GET /$Kind/: one has no id"
        }
        $item
    }
}

function Get-HnsNetworkNamed {
    param([string] $Name)
    @(Get-HnsList 'networks') | Where-Object { $_.Name -eq $Name } | Select-Object -First 1
}
