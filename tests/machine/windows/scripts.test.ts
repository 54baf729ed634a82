import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import type { PodNetwork } from "../../../components/model/podNetwork.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { commandNames, functionTexts, syntaxErrors, tokens } from "../../support/powershell.ts";

const shared = new URL("../../../components/machine/windows/scripts/", import.meta.url);
const ps1 = (folder: URL): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".ps1"));
const testFolder = new URL("scripts/", import.meta.url);
const tests = ps1(testFolder).map((name) => ({ name, text: readFileSync(new URL(name, testFolder), "utf8") }));

describe("the PowerShell scripts of a Windows node", () => {
  const all = Object.values(podNetworks).flatMap((network, index) => {
    const own = ps1(network.windows.folder);
    return windowsScripts(network)
      .filter((name) => index === 0 || own.includes(name))
      .map((name) => ({
        name,
        title: own.includes(name) ? `${network.name}'s ${name}` : name,
        script: readWindowsScript(name, network),
        written: readFileSync(new URL(name, own.includes(name) ? network.windows.folder : shared), "utf8"),
      }));
  });

  it("are all in the payload, and nothing else is", () => {
    for (const network of Object.values(podNetworks))
      assert.deepEqual([...windowsScripts(network)].sort(), [...ps1(shared), ...ps1(network.windows.folder)].sort());
  });

  for (const { title, script, written } of all)
    it(`${title} parses, and is to PowerShell what is written when a node gets it without comments and indentation`, async () => {
      assert.deepEqual(await syntaxErrors(script), []);
      assert.deepEqual(await tokens(script), await tokens(written));
      assert.doesNotMatch(script.trimEnd(), /^\s*(#.*)?$/m);
    });

  for (const { name, text } of tests)
    it(`its test ${name} parses`, async () => assert.deepEqual(await syntaxErrors(text), []));

  it("a script that lacks a brace is told with its place", async () => {
    const broken = readWindowsScript("routes.ps1", podNetworks.flannel).replace(/\}\s*$/, "");
    const errors = await syntaxErrors(broken);
    assert.notEqual(errors.length, 0);
    assert.match(errors[0] ?? "", /^\d+:\d+ /);
  });

  it("are plain ASCII: Windows PowerShell reads a file without a byte order mark in the machine's code page", () => {
    for (const { written, title } of all) assert.match(written, /^[\x20-\x7e\n]*$/, title);
  });

  it("each say in their first line what they are for, and stay short", () => {
    for (const { written, title } of all) {
      const lines = written.split("\n");
      assert.match(lines[0] ?? "", /^# [A-Z].*\.?$/, title);
      assert.ok(lines.length <= 250, `${title} has ${lines.length} lines`);
    }
  });
});

/**
 * Commands of Windows PowerShell 5.1 and of the modules of Windows Server that the scripts call. A name that is on no
 * list is a slip of the pen or a function that was renamed, which PowerShell itself reports only when it gets there.
 */
const ofWindows: ReadonlySet<string> = new Set(
  `Add-Member Add-MpPreference Add-Type ConvertFrom-Json ConvertTo-Json Copy-Item ForEach-Object
  Format-List Format-Table Get-Acl Get-ChildItem Get-CimInstance Get-Command Get-FileHash Get-Item Get-ItemProperty Get-NetAdapter Get-NetFirewallRule
  Get-NetIPAddress Get-NetRoute Get-Partition Get-PartitionSupportedSize Get-Process Get-Random Get-ScheduledTask Get-ScheduledTaskInfo
  Get-Service Get-WindowsFeature Get-WinEvent Install-WindowsFeature Invoke-CimMethod Join-Path New-CimInstance New-CimSession Remove-CimSession
  New-Item New-ItemProperty New-NetFirewallRule New-NetRoute New-Object New-ScheduledTaskAction New-ScheduledTaskPrincipal
  New-ScheduledTaskSettingsSet New-ScheduledTaskTrigger New-Service New-TimeSpan Out-Null Out-String Register-ScheduledTask Remove-Item
  Remove-NetFirewallRule Remove-NetRoute Resize-Partition Restart-Computer Select-Object Select-String Set-CimInstance
  Set-Service Set-Variable Sort-Object Split-Path Start-Process Start-ScheduledTask Start-Sleep Stop-Process
  Test-Path Unregister-ScheduledTask Where-Object Write-EventLog Write-Host Write-Verbose`.split(/\s+/),
);

/**
 * What the tests call besides. Scripts have one function for each: commands without a limit, and such that leave half a
 * file.
 */
const ofTests: ReadonlySet<string> = new Set(
  "Add-Content Get-Content Set-Content Start-Service chmod ln tar".split(" "),
);

/**
 * What only one place does, so that no call is without a limit, no file half written and no answer believed as it
 * comes: what it looks like in a script, and where it may stand.
 */
const cures: readonly (readonly [string, RegExp, readonly string[]])[] = [
  ["a file is read", /\[IO\.File\]::(?!Read)\w*Read\w*|\[IO\.File\]::ReadAllText/i, ["files.ps1"]],
  ["a file is written", /\[IO\.File\]::(?:Create|Write|Move|Replace|Append)/i, ["files.ps1", "web.ps1"]],
  [
    "JSON is read",
    /\bConvertFrom-Json\b/i,
    ["files.ps1", "identity.ps1", "web.ps1", "notice.ps1", "hns.ps1", "report.ps1", "start-kube-proxy.ps1"],
  ],
  ["the web is asked", /\[Net\.(?:Http|Web)\w*\]::Create|Net\.WebClient/i, ["web.ps1"]],
  [
    "a program is run",
    /& \$(?!PSScriptRoot|Body|Condition|Fresh|Check|Question|Duties|Command)\w|Diagnostics\.Process\b|ProcessStartInfo/i,
    ["lib.ps1"],
  ],
  [
    "a process is waited for",
    /\.WaitForExit\(\)/,
    ["start-flanneld.ps1", "start-kube-proxy.ps1", "start-collector.ps1", "download.ps1"],
  ],
  ["a service is asked", /\.(?:Stop|Start|WaitForStatus)\((?!\))|\$service\.(?:Stop|Start)\(/, ["services.ps1"]],
  ["crictl is called", /programs\.crictl/i, ["lib.ps1"]],
  ["kubectl has no limit", /programs\.kubectl @\((?![^\n]*--request-timeout)/, []],
];

function defined(text: string): readonly string[] {
  return [...text.matchAll(/^\s*function ([\w.-]+)/gim)].map(([, name = ""]) => name);
}

/** A script and all that it reads in, by name. */
function closure(name: string, network: PodNetwork, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, next = ""] of readWindowsScript(name, network).matchAll(/^\. "\$PSScriptRoot\/([\w-]+\.ps1)"/gm))
    closure(next, network, found);
  return found;
}

function included(network: PodNetwork): ReadonlySet<string> {
  return new Set(
    windowsScripts(network).flatMap((name) => [...closure(name, network)].filter((other) => other !== name)),
  );
}

/** Names of the variables that a script sets, in lower case. */
function variablesSet(text: string): ReadonlySet<string> {
  const set = /\$(\w+)(?:, \$\w+)?\s*[+-]?=(?!=)|foreach \(\$(\w+)|\[[\w.[\]]+\] \$(\w+)/gi;
  const always = new Set(["_", "null", "true", "false", "args", "temp", "scripts"]);
  return new Set(
    [...text.matchAll(set)].map(([, a, b, c]) => (a ?? b ?? c ?? "").toLowerCase()).filter((name) => !always.has(name)),
  );
}

const networks = Object.values(podNetworks);
const everyScript = networks.flatMap((network) =>
  windowsScripts(network).map((name) => readWindowsScript(name, network)),
);
const setByScripts: ReadonlySet<string> = new Set(everyScript.flatMap((script) => [...variablesSet(script)]));

describe("commands of the PowerShell scripts", () => {
  for (const network of networks) {
    const read = included(network);
    for (const name of windowsScripts(network).filter((script) => !read.has(script)))
      it(`${name} calls only what Windows has and what it reads in (${network.name})`, async () => {
        // A stage runs inside stage.ps1 and sees its functions.
        const scripts = [
          ...closure(name, network),
          ...(name.startsWith("stage-") ? closure("stage.ps1", network) : []),
        ];
        const functions = new Set(scripts.flatMap((script) => defined(readWindowsScript(script, network))));
        const unknown: string[] = [];
        for (const script of closure(name, network))
          for (const command of await commandNames(readWindowsScript(script, network)))
            if (!ofWindows.has(command) && !functions.has(command)) unknown.push(`${script}: ${command}`);
        assert.deepEqual(unknown, []);
      });
  }

  for (const { name, text } of tests.filter((test) => test.name.endsWith(".tests.ps1")))
    it(`${name} calls only what Windows has, what it defines and what the scripts define`, async () => {
      const beside = [...text.matchAll(/^\. "\$PSScriptRoot\/(.+\.ps1)"/gm)].map(([, file = ""]) =>
        readFileSync(new URL(file, testFolder), "utf8"),
      );
      const functions = new Set([text, ...beside, ...everyScript].flatMap(defined));
      const unknown = (await commandNames(text))
        // A test that fakes a command names the real one by its module.
        .map((command) => command.replace(/^Microsoft\.PowerShell\.\w+\\/, ""))
        .filter((command) => !ofWindows.has(command) && !ofTests.has(command) && !functions.has(command));
      assert.deepEqual(unknown, []);
    });

  for (const [what, pattern, places] of cures)
    it(`${what} in one place only: ${places.join(", ") || "none"}`, () => {
      const found = networks.flatMap((network) =>
        windowsScripts(network).filter((name) => pattern.test(readWindowsScript(name, network))),
      );
      const unknown = [...new Set(found)].filter((name) => !places.includes(name));
      assert.deepEqual(unknown, []);
    });

  // A function sees the variables of its caller: a script's local would hide the test's variable of that name from the
  // test's own fakes.
  for (const { name, text } of tests)
    it(`the fakes of ${name} read no variable by a name that a script sets`, async () => {
      const hidden: string[] = [];
      for (const fake of await functionTexts(text)) {
        const own = variablesSet(fake);
        const read = [...fake.matchAll(/\$(\w+)/g)].map(([, variable = ""]) => variable.toLowerCase());
        hidden.push(...read.filter((variable) => setByScripts.has(variable) && !own.has(variable)));
      }
      assert.deepEqual([...new Set(hidden)], []);
    });

  it("a command that nobody has is noticed, in a pipeline and in a block too", async () => {
    const text =
      'Get-Item a | Where-Nobody { Stop-Everything b }\n& $program c\n. "$PSScriptRoot/lib.ps1"\nfunction A-B {\n}\n';
    assert.deepEqual(await commandNames(text), ["Get-Item", "Stop-Everything", "Where-Nobody"]);
  });
});
