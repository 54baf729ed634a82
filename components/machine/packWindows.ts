import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { MachinePayload, PayloadFile } from "./payload.ts";
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

/** Scripts that user data itself must hold on AWS: what it takes to sign a request and to unpack its answer. */
const firstScripts: readonly string[] = ["fetch.ps1", "lib.ps1", "task.ps1", "sigv4.ps1", "identity.ps1"].map(windowsScript);

/** The object in S3 with the scripts that user data has no room for. They hold no secret and no value of a pool. */
export interface WindowsScriptsObject {
  /** Key in the bucket. It is made of the digest, so that machines with older user data still find theirs. */
  readonly key: string;
  /** SHA-256 of the object's bytes, hexadecimal. */
  readonly sha256: string;
  /** The object's bytes in base64. */
  readonly contentBase64: string;
}

/** The second part of a payload on AWS. It holds scripts only, so most pools of a release of Fenestra have the same. */
export function windowsScriptsObject({ files, entry }: MachinePayload): WindowsScriptsObject {
  const bytes = gzip(archive(files.filter(isSecond), entry));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { key: `windows/${sha256}.json.gz`, sha256, contentBase64: bytes.toString("base64") };
}

/** `windowsScriptsObject` for the pools of one cluster: the same scripts are packed once. */
export function windowsScriptsObjects(): typeof windowsScriptsObject {
  const packed = new Map<string, WindowsScriptsObject>();
  return (payload) => {
    const value = JSON.stringify([payload.entry, payload.files.filter(isSecond)]);
    const object = packed.get(value) ?? windowsScriptsObject(payload);
    packed.set(value, object);
    return object;
  };
}

/**
 * User data of an AWS instance, as EC2Launch v2 takes it. The limit of 16,384 bytes is AWS's; the caller checks it.
 *
 * @param object what `windowsScriptsObject` gives for the payload: the other scripts.
 * @param bucket where the object lies; it must be in the region of the machine.
 */
export function packWindowsAws(
  payload: MachinePayload,
  { key, sha256 }: Pick<WindowsScriptsObject, "key" | "sha256">,
  bucket: string,
): string {
  const files = [
    ...payload.files.filter((file) => !isSecond(file)),
    { path: `${windowsPaths.root}\\scripts.json`, content: JSON.stringify({ bucket, key, sha256 }) },
  ];
  return `<powershell>\n${loader(files, windowsScript("fetch.ps1"))}\n</powershell>\n`;
}

function isSecond({ path }: PayloadFile): boolean {
  return path.endsWith(".ps1") && !firstScripts.includes(path);
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

/**
 * Script that unpacks the files and runs the entry. Only .NET is used: loading a module costs seconds. Files are written under the lock of
 * the run: Azure may start the extension's command again after a restart that cut it off (Azure VM Runtime Team, "When will CustomScript
 * extension re-execute my script?"), while the start-up task has filled in this machine's values and the kubelet is about to read them.
 */
function loader(files: readonly PayloadFile[], entry: string): string {
  return [
    "$ErrorActionPreference='Stop'",
    `$p='${gzip(archive(files, entry)).toString("base64")}'`,
    "$m=New-Object IO.MemoryStream(,[Convert]::FromBase64String($p))",
    "$z=New-Object IO.Compression.GZipStream($m,[IO.Compression.CompressionMode]::Decompress)",
    "$a=(New-Object IO.StreamReader($z,[Text.Encoding]::UTF8)).ReadToEnd()|ConvertFrom-Json",
    // Refused to who may not have it, abandoned by a run that was cut off, held by one that has failed for long: no reason not to go on.
    "$h=$true",
    "try{$l=New-Object Threading.Mutex($false,'Global\\fenestra-run');$h=$l.WaitOne(600000)}catch{}",
    "foreach($f in $a.files.PSObject.Properties){",
    "New-Item -ItemType Directory -Force -Path (Split-Path -Parent $f.Name)|Out-Null",
    "[IO.File]::WriteAllText($f.Name,$f.Value)",
    "}",
    "if($l -and $h){$l.ReleaseMutex()}",
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $a.entry",
    "exit $LASTEXITCODE",
  ].join("\n");
}

function archive(files: readonly PayloadFile[], entry: string): string {
  return JSON.stringify({ entry, files: Object.fromEntries(files.map((file) => [file.path, slim(file)])) });
}

/** The gzip stream. The byte of its header that names the packing system is set to "unknown", so that no build host shows. */
function gzip(text: string): Buffer {
  const bytes = gzipSync(Buffer.from(text, "utf8"), { level: 9, memLevel: 9 });
  bytes[9] = 255;
  return bytes;
}

/** The text of a file without what only people read. */
function slim({ path, content }: PayloadFile): string {
  if (path.endsWith(".ps1")) return slimScript(content);
  if (/\.(json|conflist)$/.test(path)) return JSON.stringify(JSON.parse(content));
  return content;
}

/** A script without whole-line comments, indentation and empty lines. No script may hold text in which these matter; a test looks. */
export function slimScript(script: string): string {
  return `${script
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .join("\n")}\n`;
}
