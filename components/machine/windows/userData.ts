import { archive, gzip, isFetched, type ScriptsReference } from "../bundle.ts";
import { isTrustFile, type MachinePayload, type PayloadFile } from "../payload.ts";
import { windowsPaths, windowsScript } from "./paths.ts";

/*
 * Format of a packed Windows payload:
 *
 *   packed   = base64 of the gzip stream of an archive, whose form is that of bundle.ts
 *   script   = PowerShell that holds `packed` between single quotes after `$p=`, unpacks it with .NET and runs the entry
 *
 *   Azure: custom data = base64 of a script with all files. The extension copies CustomData.bin to a .ps1 file and runs that.
 *   AWS:   user data = "<powershell>\n" script "\n</powershell>\n". Its archive lacks the scripts that the machine fetches, and holds
 *          `C:\fenestra\scripts.json` with bucket, key and SHA-256 of their object. Its entry starts a task for them and ends.
 */

const customData = "C:\\AzureData\\CustomData.bin";

/**
 * User data of an AWS instance for EC2Launch v2. The caller checks AWS's limit of 16,384 bytes.
 *
 * @param object what `scriptsObject` returned for the payload
 * @param bucket the one with the object, in the region of the machine
 */
export function packWindowsAws(payload: MachinePayload, { key, sha256 }: ScriptsReference, bucket: string): string {
  const files = [
    ...payload.files.filter((file) => !isFetched(file)),
    { path: `${windowsPaths.root}\\scripts.json`, content: JSON.stringify({ bucket, key, sha256 }) },
  ];
  return `<powershell>\n${loader(files, windowsScript("fetch.ps1"))}\n</powershell>\n`;
}

/** Custom data of an Azure machine, in base64 as the API expects it. */
export function packWindowsAzure({ files, entry }: MachinePayload): string {
  const wanted = files.filter(({ path }) => path !== windowsScript("fetch.ps1"));
  return Buffer.from(loader(wanted, entry), "utf8").toString("base64");
}

/**
 * Command of the CustomScriptExtension that runs the custom data, the same for all pools. It passes through cmd, so it
 * has no double quotes and no percent sign; its exit code is the extension's.
 */
export function windowsExtensionCommand(): string {
  const copy = "C:\\AzureData\\fenestra.ps1";
  return [
    `copy /y ${customData} ${copy}`,
    `powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File ${copy}`,
  ].join(" && ");
}

/**
 * Script that unpacks the files and runs the entry. It uses only .NET: loading a module takes seconds. Files are
 * written under the lock of the run: Azure may repeat the extension's command after a restart that interrupted it
 * (Azure VM Runtime Team, "When will CustomScript extension re-execute my script?"), while the start-up task has filled
 * in this machine's values and the kubelet is about to read them.
 */
function loader(files: readonly PayloadFile[], entry: string): string {
  return [
    ...unpacking(files, entry),
    "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -File $a.entry",
    "exit $LASTEXITCODE",
  ].join("\n");
}

/** The part of it that unpacks. */
export function unpacking(files: readonly PayloadFile[], entry: string): readonly string[] {
  return [
    "$ErrorActionPreference='Stop'",
    `$p='${gzip(archive(files, entry))}'`,
    "$m=[IO.MemoryStream][Convert]::FromBase64String($p)",
    // 0 is Decompress.
    "$m=New-Object IO.Compression.GZipStream($m,[IO.Compression.CompressionMode]0)",
    "$a=(New-Object IO.StreamReader $m).ReadToEnd()|ConvertFrom-Json",
    // Access denied, abandoned by an interrupted run, or held by one that keeps failing: none is a reason to stop.
    "try{$l=New-Object Threading.Mutex($false,'Global\\fenestra-run');$h=$l.WaitOne(600000)}catch{}",
    "foreach($f in $a.files.PSObject.Properties){",
    "$h=[IO.Directory]::CreateDirectory((Split-Path $f.Name))",
    // What the stage `join` has filled in stays: it fills from here.
    '$n=$f.Name;if(Test-Path "$n.template"){$n+=".template"}',
    // Beside it first: a reader has the old file or the new one. What does not let its file be replaced may let it be
    // written, but not where there is no room for the new one: that would empty the old.
    '$h=$o=Test-Path $n;$w=[IO.File];try{$w::WriteAllText("$n.new",$f.Value);$o=0',
    'if($h){$w::Replace("$n.new",$n,[NullString]::Value)}else{$w::Move("$n.new",$n)}',
    "}catch{if($o){throw};$w::WriteAllText($n,$f.Value)}",
    "}",
    "try{$l.ReleaseMutex()}catch{}",
    // Before anything is fetched. containerd and curl.exe read this store.
    ...files
      .filter(isTrustFile)
      .map(({ path }) => `certutil.exe -f -addstore Root '${path}'\nif($LASTEXITCODE){exit $LASTEXITCODE}`),
  ];
}
