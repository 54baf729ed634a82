# Answers every HTTP request on port 80 with the name of the pod that took it.
$ErrorActionPreference = 'Stop'
$listener = New-Object System.Net.HttpListener
$listener.Prefixes.Add('http://*:80/')
$listener.Start()
Write-Output "listening on port 80 of $env:COMPUTERNAME"
$served = 0
while ($listener.IsListening) {
    $context = $listener.GetContext()
    $served += 1
    $text = "<!doctype html><title>win-webserver</title><p>Request $served, answered by $env:COMPUTERNAME.</p>"
    try {
        $body = [System.Text.Encoding]::UTF8.GetBytes($text)
        $context.Response.ContentType = 'text/html; charset=utf-8'
        $context.Response.ContentLength64 = $body.Length
        $context.Response.OutputStream.Write($body, 0, $body.Length)
        $context.Response.Close()
        Write-Output "$($context.Request.RemoteEndPoint) $($context.Request.HttpMethod) $($context.Request.RawUrl)"
    }
    catch {
        # A client that hangs up early must not end the server.
        Write-Output "request $served broke off: $($_.Exception.Message)"
    }
}
