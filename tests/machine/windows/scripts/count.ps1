# Copies a tree of scripts with a counter in front of each statement: copies, changed ones too, write the number of a
# statement that runs for the first time to a file of their process in `hits`. The file `statements` has the script, the
# function and the line of each number.
param([string] $Source, [string] $Target, [string[]] $Folders)
$ErrorActionPreference = 'Stop'
New-Item -ItemType Directory -Path "$Target/hits" | Out-Null
$kinds = '^(Pipeline|PipelineChain|AssignmentStatement|ReturnStatement|ThrowStatement|ExitStatement|BreakStatement|ContinueStatement)Ast$'
$list = New-Object Collections.Generic.List[string]
# An expression between brackets is part of its statement, and a default runs before there is a table.
function Test-Counted {
    param($Ast)
    if ($Ast.GetType().Name -notmatch $kinds -or $Ast.Parent.GetType().Name -notmatch '^(StatementBlock|NamedBlock)Ast$') { return $false }
    if ($Ast.Parent.Parent.GetType().Name -match '^(Sub|Array)ExpressionAst$') { return $false }
    for ($up = $Ast.Parent; $up; $up = $up.Parent) {
        if ($up -is [Management.Automation.Language.ParamBlockAst]) { return $false }
    }
    $true
}
foreach ($folder in $Folders) {
    foreach ($script in Get-ChildItem -Recurse -File -Filter *.ps1 -LiteralPath "$Source/$folder") {
        $text = [IO.File]::ReadAllText($script.FullName)
        $ast = [Management.Automation.Language.Parser]::ParseInput($text, [ref] $null, [ref] $null)
        $short = $script.FullName.Substring((Get-Item -LiteralPath "$Source/$folder").FullName.Length + 1).Replace('\', '/')
        $first = $null
        if ($ast.EndBlock.Statements.Count -gt 0) { $first = $ast.EndBlock.Statements[0].Extent.StartOffset }
        $counters = @{}
        foreach ($each in $ast.FindAll({ param($node) Test-Counted $node }, $true)) {
            $function = $each.Parent
            while ($function -and $function -isnot [Management.Automation.Language.FunctionDefinitionAst]) { $function = $function.Parent }
            $number = $list.Count
            $list.Add("$short $(if ($function) { $function.Name } else { '(itself)' }) $($each.Extent.StartLineNumber)")
            $counters[$each.Extent.StartOffset] = "if(-not `$global:FenestraHits[$number]){`$global:FenestraHits[$number]=1;[IO.File]::AppendAllText('$Target/hits/'+`$PID,'$number ')};"
        }
        if ($null -ne $first) { $counters[$first] = "if(-not `$global:FenestraHits){`$global:FenestraHits=@{0=0}};$($counters[$first])" }
        foreach ($at in @($counters.Keys | Sort-Object -Descending)) { $text = $text.Insert($at, $counters[$at]) }
        $copy = "$Target/components/$folder/$short"
        New-Item -ItemType Directory -Force -Path (Split-Path -Parent $copy) | Out-Null
        [IO.File]::WriteAllText($copy, $text)
    }
}
[IO.File]::WriteAllLines("$Target/statements", $list)
