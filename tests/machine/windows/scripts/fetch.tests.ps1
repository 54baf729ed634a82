# The first script on AWS: what is fetched is checked, and a restart meanwhile is not the end.
. "$PSScriptRoot/fakes.ps1"
Copy-Item "$scripts/fetch.ps1", "$scripts/task.ps1", "$scripts/files.ps1" -Destination $temp
Set-Content -Path "$temp/web.ps1" -Value @(
    'function Initialize-Web { }'
    'function Invoke-AwsFetch {'
    'param($Cloud, $Object, $File)'
    'Add-Deed "fetch $($Object.bucket) $($Object.key)"'
    'if ($fakePc.refuses -gt 0) { $fakePc.refuses -= 1; throw "(403) Forbidden, x-amz-security-token:session" }'
    'Copy-Item -Force "$PSScriptRoot/$($fakePc.object)" -Destination $File'
    '}'
)

# Writes the second archive, whose only script is the bootstrap's entry, and another one that nobody asked for.
function Write-Archive {
    param($Name, $Text)
    [IO.File]::WriteAllText("$temp/$Name", (@{ files = @{ "$temp/bootstrap.ps1" = $Text } } | ConvertTo-Json -Compress))
}
Write-Archive 'right.json' 'Add-Deed bootstrap; exit 0'
Write-Archive 'forged.json' 'Add-Deed forged; exit 0'
Write-Archive 'failing.json' 'exit 5'
# The archive that is asked for.
function Set-Object { ConvertTo-Json @{ bucket = 'b'; key = 'k'; sha256 = (Get-FileHash "$temp/$($args[0])" -Algorithm SHA256).Hash.ToLowerInvariant() } | Set-Content -Path "$temp/scripts.json" }
Set-Object 'right.json'
New-Data 'retry.pauseSeconds [10,20]' | ConvertTo-Json -Depth 20 | Set-Content -Path "$temp/machine.json"
function Reset-Fake {
    Reset-Pc @{ object = 'right.json' }
    Remove-Item -Force -Path "$temp/archive.json", "$temp/bootstrap.ps1" -ErrorAction SilentlyContinue
}

Test 'user data ends with its task, at Windows'' starts too, and fetches nothing' {
    Reset-Fake
    $fakePc.refuses = 1
    & "$temp/fetch.ps1"
    Assert-Equal $LASTEXITCODE 0
    Assert-Equal $fakePc.deeds @('task fenestra-fetch', 'run fenestra-fetch')
    $is = $fakePc.tasks['fenestra-fetch'].is
    Assert-True ($is[0] -like '* -File *fetch.ps1 -Resume')
    Assert-Equal $is[1..3] @(@('at startup True', 'every 5 min since 2020'), 'SYSTEM', '0 4 True True 99 every 1')
}
foreach ($case in Read-Table @'
title|tasks[]|does[]|there
fetches, and runs what it fetched||fetch b k, bootstrap|
goes on after a restart without another fetch||bootstrap|True
has it begin anew where it was cut|fenestra-run, fenestra-notices|fetch b k, bootstrap|
fetches nothing once the bootstrap has its tasks|fenestra-run, fenestra-notices, fenestra-health||
'@) {
    Test "the task $($case.title), and goes" {
        Reset-Fake
        foreach ($name in @('fenestra-fetch') + $case.tasks) { $fakePc.tasks[$name] = @{} }
        if ($case.there) { Copy-Item "$temp/right.json" -Destination "$temp/archive.json" }
        & "$temp/fetch.ps1" -Resume
        Assert-Equal $fakePc.deeds ($case.does + 'forget fenestra-fetch')
    }
}
Test 'the task stays where the bootstrap fails' {
    Reset-Fake
    $fakePc.object = 'failing.json'
    Set-Object 'failing.json'
    & "$temp/fetch.ps1" -Resume
    Assert-Equal @($LASTEXITCODE, $fakePc.deeds) @(5, @('fetch b k'))
    Set-Object 'right.json'
}
Test 'a refusal is told without the answer, and tried again with growing pauses' {
    Reset-Fake
    $fakePc.refuses = 3
    & "$temp/fetch.ps1" -Resume
    Assert-Equal $fakePc.slept @(10, 20, 20)
    Assert-Equal $fakePc.told.Count 3
    Assert-False ("$($fakePc.told)" -match 'session')
    Assert-Equal $fakePc.deeds[-2] 'bootstrap'
}
Test 'scripts with another digest are never run' {
    Reset-Fake
    $fakePc.object = 'forged.json'
    $fakePc.onSleep = { throw 'still not right' }
    Assert-Throws { & "$temp/fetch.ps1" -Resume } 'still not right'
    Assert-Equal $fakePc.deeds @('fetch b k')
    Assert-True ($fakePc.told[0] -like 'the scripts that were fetched have the SHA-256 *, expected *')
    Assert-False (Test-Path "$temp/bootstrap.ps1")
}
Complete-Tests
