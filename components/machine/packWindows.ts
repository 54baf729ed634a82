import type { MachinePayload, PayloadFile } from "./payload.ts";
import { archive, gzip, isFetched, type ScriptsReference } from "./scriptsObject.ts";
import { windowsPaths, windowsScript } from "./windowsPaths.ts";

/*
 * Format of a packed Windows payload:
 *
 *   archive  = JSON in UTF-8: {"entry": "<path>", "files": {"<path>": "<text>", ...}}, files in the order they are written
 *   packed   = base64 of the gzip stream of the archive
 *   script   = PowerShell that holds `packed` between single quotes after `$p=`, unpacks it with .NET and runs the entry
 *
 *   Azure: custom data = base64 of a script with all files. The extension copies CustomData.bin to a .ps1 file and runs that.
 *   AWS:   user data = "<powershell>\n" script "\n</powershell>\n". All files together do not fit into AWS's 16,384 bytes, so this archive
 *          holds everything but the scripts, the few scripts that fetch the others, and `C:\fenestra\scripts.json` with bucket, key and
 *          SHA-256 of an object in S3. The object is the gzip stream (not in base64) of a second archive with the other scripts.
 *
 * What only people read is left out of scripts and JSON files: comments, indentation, empty lines.
 */

/** Where Azure leaves the custom data of a Windows machine, not executed. */
const customData = "C:\\AzureData\\CustomData.bin";

/**
 * User data of an AWS instance, as EC2Launch v2 takes it. The limit of 16,384 bytes is AWS's; the caller checks it.
 *
 * @param object what `scriptsObject` gives for the payload: the other scripts.
 * @param bucket where the object lies; it must be in the region of the machine.
 */
export function packWindowsAws(payload: MachinePayload, { key, sha256 }: ScriptsReference, bucket: string): string {
  const files = [
    ...payload.files.filter((file) => !isFetched(file)),
    { path: `${windowsPaths.root}\\scripts.json`, content: JSON.stringify({ bucket, key, sha256 }) },
  ];
  return `<powershell>\n${loader(files, windowsScript("fetch.ps1"))}\n</powershell>\n`;
}

/** Custom data of an Azure machine, in base64 as the API wants it. */
export function packWindowsAzure({ files, entry }: MachinePayload): string {
  const wanted = files.filter(({ path }) => path !== windowsScript("fetch.ps1"));
  return Buffer.from(loader(wanted, entry), "utf8").toString("base64");
}

/**
 * Command of the CustomScriptExtension that runs the custom data. It passes through cmd, so it holds no double quotes and no percent sign;
 * its exit code is the extension's. The same for all pools: what differs is in the custom data.
 */
export function windowsExtensionCommand(): string {
  const copy = "C:\\AzureData\\fenestra.ps1";
  return [
    `copy /y ${customData} ${copy}`,
    `powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File ${copy}`,
  ].join(" && ");
}

/** Script that unpacks the files and runs the entry. Only .NET is used: loading a module costs seconds. */
function loader(files: readonly PayloadFile[], entry: string): string {
  return [
    "$ErrorActionPreference='Stop'",
    `$p='${gzip(archive(files, entry)).toString("base64")}'`,
    "$m=New-Object IO.MemoryStream(,[Convert]::FromBase64String($p))",
    "$z=New-Object IO.Compression.GZipStream($m,[IO.Compression.CompressionMode]::Decompress)",
    "$a=(New-Object IO.StreamReader($z,[Text.Encoding]::UTF8)).ReadToEnd()|ConvertFrom-Json",
    "foreach($f in $a.files.PSObject.Properties){",
    "New-Item -ItemType Directory -Force -Path (Split-Path -Parent $f.Name)|Out-Null",
    "[IO.File]::WriteAllText($f.Name,$f.Value)",
    "}",
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $a.entry",
    "exit $LASTEXITCODE",
  ].join("\n");
}
