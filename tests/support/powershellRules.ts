import type { Node } from "web-tree-sitter";
import { visitNodes } from "../../rehearsal/programs/checkers.ts";

export { syntaxErrors } from "../../rehearsal/programs/checkers.ts";

interface Need {
  readonly command: RegExp;
  /** One of these parameters, in full and in lower case. */
  readonly oneOf: readonly string[];
}

/** For every script, sample and command of a pod. By default 5.1 has no limit and the machine's code page. */
export const needs: readonly Need[] = [
  { command: /^Invoke-(?:RestMethod|WebRequest)$/i, oneOf: ["-timeoutsec"] },
  { command: /^(?:(?:Get|Set|Add)-Content|Out-File)$/i, oneOf: ["-encoding"] },
  { command: /^curl(?:\.exe)?$/i, oneOf: ["--max-time"] },
];

/** For what watches a node or a person calls: only its own limits end it. */
export const limits: readonly Need[] = [
  {
    // Calls of WMI. A task's objects are made without one.
    command:
      /-(?:Cim(?!Session)|Net[A-Z]|Partition|MpPreference|SmbGlobalMapping|ScheduledTask(?!Action|Trigger|Principal|Settings))|^(?:New-CimSession|Restart-Computer)$/,
    oneOf: ["-cimsession", "-operationtimeoutsec"],
  },
  { command: /^Invoke-Program$/i, oneOf: ["-seconds"] },
];

/** Calls in a script that lack what they need. */
export async function lacking(script: string, rules: readonly Need[]): Promise<readonly string[]> {
  return (await commands(script))
    .filter(({ name, parameters }) =>
      rules.some(({ command, oneOf }) => command.test(name) && !oneOf.some((each) => parameters.includes(each))),
    )
    .map(({ text }) => text);
}

/**
 * What only one place does, so that every call has a limit, no file is half written and no answer believed unchecked:
 * its form in a script, and where it may stand.
 */
export const cures: readonly (readonly [string, RegExp, readonly string[]])[] = [
  [
    "a file is read",
    /\[IO\.File\]::\w*Read\w*/i,
    ["files.ps1", "hns.ps1", "readObject.aws.ps1", "readObject.azure.ps1"],
  ],
  ["a file is written", /\[IO\.File\]::(?:Create|Write|Move|Replace|Append)/i, ["files.ps1", "web.ps1"]],
  [
    "JSON is read",
    /\bConvertFrom-Json\b/i,
    [
      "files.ps1",
      "identity.ps1",
      "web.ps1",
      "notice.ps1",
      "hns.ps1",
      "report.ps1",
      "start-kube-proxy.ps1",
      "logMonitor.ps1",
    ],
  ],
  ["the web is asked", /\[Net\.(?:Http|Web)\w*\]::Create|Net\.WebClient/i, ["web.ps1"]],
  [
    "a program is run",
    /& \$(?!PSScriptRoot|Body|Condition|Fresh|Check|Question|Duties|Command)\w|Diagnostics\.Process\b|ProcessStartInfo/i,
    ["lib.ps1"],
  ],
  ["a process is waited for", /\.WaitForExit\(\)/, ["start-flanneld.ps1", "pod.ps1", "fetch-files.ps1"]],
  ["a service is asked", /\.(?:Stop|Start|WaitForStatus)\((?!\))|\$service\.(?:Stop|Start)\(/, ["services.ps1"]],
  ["crictl is called", /programs\.crictl/i, ["lib.ps1"]],
  ["kubectl has no limit", /programs\.kubectl @\((?![^\n]*--request-timeout)/, []],
  // Its encoder begins with a mark, and it waits for a reader.
  ["standard input is given", /StandardInput/, ["lib.ps1"]],
  ["standard input is text", /StandardInput(?!\.BaseStream|\.Close\(\)| = \$true)/, []],
  // In some cultures I is not the capital of i.
  [
    "an expression of .NET follows the machine's culture",
    /\[(?:Text\.RegularExpressions\.)?Regex\]::(?!Escape\b)(?![^\n]*CultureInvariant)/i,
    [],
  ],
  [
    "what is secret follows the machine's culture",
    /secret-patterns(?=[\s\S]*\s-i?(?:not)?(?:match|like)\b)|\s-i?(?:not)?(?:match|like)\b(?=[\s\S]*secret-patterns)/i,
    [],
  ],
];

/** The same function, which reads each script once: many scripts read in the same ones. */
function once<T>(read: (script: string) => Promise<T>): (script: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (script) => {
    const found = known.get(script) ?? read(script);
    known.set(script, found);
    return found;
  };
}

/** Names of a script's commands, sorted, each once. A command in a variable has none. */
export const commandNames = once(async (script) => {
  const found = new Set<string>();
  await visitNodes(script, (node) => {
    if (node.type === "command_name") found.add(node.text);
  });
  return [...found].sort();
});

/** A script's tokens in order, without comments and white space. */
export async function tokens(script: string): Promise<readonly string[]> {
  const found: string[] = [];
  await visitNodes(script, (node) => {
    if (node.childCount === 0 && node.type !== "comment") found.push(node.text);
  });
  return found;
}

/** A call of a command, without those in its arguments. */
interface Command {
  readonly name: string;
  /** Parameters and options, in lower case. */
  readonly parameters: readonly string[];
  readonly text: string;
}

/** The nearest node of these types around one. */
function around(node: Node, ...types: readonly string[]): Node | undefined {
  for (let next = node.parent; next !== null; next = next.parent) if (types.includes(next.type)) return next;
  return undefined;
}

function nameOf(command: Node) {
  return command.text.replace(/^[&.]\s*/, "").split(/\s/, 1)[0] ?? "";
}

/** Every command of a script, in blocks and arguments too. */
const commands = once(async (script): Promise<readonly Command[]> => {
  const found = new Map<number, Command & { readonly parameters: string[] }>();
  await visitNodes(script, (node) => {
    if (node.type === "command") found.set(node.id, { name: nameOf(node), parameters: [], text: node.text });
    // The grammar takes an option with two hyphens for a word.
    if (node.type !== "command_parameter" && !(node.type === "generic_token" && node.text.startsWith("--"))) return;
    const owner = around(node, "command");
    if (owner !== undefined) found.get(owner.id)?.parameters.push(node.text.toLowerCase().replace(/:$/, ""));
  });
  return [...found.values()];
});

/**
 * Parameters that PowerShell 7.6 has (`Get-Command`) and 5.1 has not (PSScriptAnalyzer: Engine/Settings,
 * desktop-5.1.14393.206-windows.json), of the commands that scripts call.
 */
const laterParameters = `
  Add-Type -CompilerOptions
  ConvertFrom-Json -AsHashtable -DateKind -Depth -NoEnumerate
  ConvertTo-Json -AsArray -EnumsAsStrings -EscapeHandling
  ForEach-Object -AsJob -Parallel -ThrottleLimit -TimeoutSeconds -UseNewRunspace
  Get-ChildItem -FollowSymlink
  Get-Content -AsByteStream
  Get-Random -Shuffle
  Invoke-RestMethod -Authentication -NoProxy -SkipCertificateCheck -SkipHttpErrorCheck -StatusCodeVariable
  Join-Path -AdditionalChildPath
  New-TimeSpan -Milliseconds
  Out-String -NoNewline
  Select-Object -CaseInsensitive -SkipIndex
  Set-Variable -Append
  Sort-Object -Bottom -Stable -Top
  Split-Path -Extension -LeafBase
  Start-Process -Confirm -Environment -WhatIf
  Start-Sleep -Duration
  Where-Object -Not
`;

/** What scripts ask of .NET's types: each is in .NET Framework 4.7.2, that of 2019 (mono/reference-assemblies). */
const frameworkMembers: ReadonlySet<string> = new Set(
  `Microsoft.Win32.Registry.LocalMachine Microsoft.Win32.RegistryKeyPermissionCheck.ReadWriteSubTree
  Microsoft.Win32.RegistryOptions.Volatile Microsoft.Win32.RegistryValueKind.MultiString
  Security.Cryptography.SHA256.Create
  Array.IndexOf Array.Sort BitConverter.ToString Console.InputEncoding Convert.FromBase64String
  Convert.ToBase64String DateTime.MinValue DateTime.Now DateTime.TryParse DateTime.UtcNow DateTimeOffset.MinValue
  DateTimeOffset.TryParse DateTimeOffset.UtcNow Diagnostics.Process.Start Diagnostics.Stopwatch.StartNew
  Environment.Exit Environment.GetEnvironmentVariable Environment.SetEnvironmentVariable
  Globalization.CultureInfo.InvariantCulture Guid.NewGuid IO.Directory.GetCreationTimeUtc IO.File.Create
  IO.File.Exists IO.File.Move IO.File.Open IO.File.ReadAllBytes IO.File.ReadAllText IO.File.Replace
  IO.File.WriteAllBytes IO.FileOptions.WriteThrough IO.Path.GetFileNameWithoutExtension IO.Path.GetFullPath
  IO.Path.GetTempPath Math.Ceiling Math.Max Math.Min Math.Pow Net.Dns.GetHostAddressesAsync Net.IPAddress.Loopback
  Net.IPAddress.Parse Net.SecurityProtocolType.Tls12 Net.ServicePointManager.SecurityProtocol
  Net.WebRequest.CreateHttp Net.WebRequest.DefaultWebProxy NullString.Value PowerShell.Create
  Reflection.Assembly.Load Regex.Escape Regex.IsMatch Regex.Matches Regex.Replace
  Security.AccessControl.AccessControlSections.Access Security.AccessControl.RegistryRights.FullControl
  StringComparer.Ordinal Text.Encoding.ASCII Text.Encoding.UTF8 Text.Encoding.Unicode Threading.Tasks.Task.Run
  Threading.Thread.Sleep TimeSpan.FromSeconds TimeSpan.Zero Uri.EscapeDataString scriptblock.Create`.split(/\s+/),
);

/** What a script asks that only a later PowerShell, or .NET, has. */
export async function tooNew(script: string): Promise<readonly string[]> {
  const lines = laterParameters.toLowerCase().split("\n");
  const calls = (await commands(script)).flatMap(({ name, parameters }) => {
    const later = lines.find((line) => line.trim().startsWith(`${name.toLowerCase()} `))?.split(" ") ?? [];
    return parameters.filter((each) => later.includes(each)).map((each) => `${name} ${each}`);
  });
  const members = [...script.matchAll(/\[(?:System\.)?([A-Z][\w.]*)\]::(\w+)/g)].map(
    ([, type, name]) => `${type}.${name}`,
  );
  const chains = (await tokens(script)).filter((token) => token === "&&" || token === "||");
  return [...calls, ...chains, ...members.filter((each) => !/^Fenestra\./.test(each) && !frameworkMembers.has(each))];
}
