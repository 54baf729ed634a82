import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import type { PodNetwork } from "../../../components/model/podNetwork.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { commandNames } from "../../support/powershell.ts";

const testFolder = new URL("scripts/", import.meta.url);

/**
 * Commands of Windows PowerShell 5.1 and of the modules of Windows Server that the scripts call. A name that is on no list is a slip of the
 * pen or a function that was renamed, which PowerShell itself reports only when it gets there.
 */
const ofWindows: ReadonlySet<string> = new Set(
  `Add-Content Add-Member Add-MpPreference Add-Type Compress-Archive ConvertFrom-Json ConvertTo-Json Copy-Item ForEach-Object
  Format-List Format-Table Get-ChildItem Get-CimInstance Get-Command Get-Content Get-FileHash Get-Item Get-ItemProperty Get-NetAdapter Get-NetFirewallRule
  Get-NetIPAddress Get-NetRoute Get-Partition Get-PartitionSupportedSize Get-Process Get-Random Get-ScheduledTask Get-ScheduledTaskInfo
  Get-Service Get-WindowsFeature Get-WinEvent Install-WindowsFeature Invoke-CimMethod Invoke-RestMethod Join-Path Move-Item New-CimInstance
  New-Item New-ItemProperty New-NetFirewallRule New-NetRoute New-Object New-ScheduledTaskAction New-ScheduledTaskPrincipal
  New-ScheduledTaskSettingsSet New-ScheduledTaskTrigger New-Service New-TimeSpan Out-Null Out-String Register-ScheduledTask Remove-Item
  Remove-NetFirewallRule Remove-NetRoute Resize-Partition Restart-Computer Select-Object Select-String Set-CimInstance
  Set-Content Set-Service Set-Variable Sort-Object Split-Path Start-Process Start-ScheduledTask Start-Service Start-Sleep Stop-Process
  Stop-Service Test-Path Where-Object Write-EventLog Write-Host`.split(/\s+/),
);

/** What the tests call besides. */
const ofTests: ReadonlySet<string> = new Set(["Expand-Archive", "Write-Error", "chmod"]);

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
  return new Set(windowsScripts(network).flatMap((name) => [...closure(name, network)].filter((other) => other !== name)));
}

const networks = Object.values(podNetworks);
const everyScript = networks.flatMap((network) => windowsScripts(network).map((name) => readWindowsScript(name, network)));

describe("commands of the PowerShell scripts", () => {
  for (const network of networks) {
    const read = included(network);
    for (const name of windowsScripts(network).filter((script) => !read.has(script))) {
      it(`${name} calls only what Windows has and what it reads in (${network.name})`, async () => {
        // A stage runs inside stage.ps1 and sees its functions.
        const scripts = [...closure(name, network), ...(name.startsWith("stage-") ? closure("stage.ps1", network) : [])];
        const functions = new Set(scripts.flatMap((script) => defined(readWindowsScript(script, network))));
        const unknown: string[] = [];
        for (const script of closure(name, network)) {
          for (const command of await commandNames(readWindowsScript(script, network)))
            if (!ofWindows.has(command) && !functions.has(command)) unknown.push(`${script}: ${command}`);
        }
        assert.deepEqual(unknown, []);
      });
    }
  }

  for (const name of readdirSync(testFolder).filter((file) => file.endsWith(".tests.ps1"))) {
    it(`${name} calls only what Windows has, what it defines and what the scripts define`, async () => {
      const read = (file: string): string => readFileSync(new URL(file, testFolder), "utf8");
      const text = read(name);
      const beside = [...text.matchAll(/^\. "\$PSScriptRoot\/(.+\.ps1)"/gm)].map(([, file = ""]) => read(file));
      const functions = new Set([text, ...beside, ...everyScript].flatMap(defined));
      const unknown = (await commandNames(text))
        // A test that fakes a command names the real one by its module.
        .map((command) => command.replace(/^Microsoft\.PowerShell\.\w+\\/, ""))
        .filter((command) => !ofWindows.has(command) && !ofTests.has(command) && !functions.has(command));
      assert.deepEqual(unknown, []);
    });
  }

  it("a command that nobody has is noticed, in a pipeline and in a block too", async () => {
    const text = 'Get-Item a | Where-Nobody { Stop-Everything b }\n& $program c\n. "$PSScriptRoot/lib.ps1"\nfunction A-B {\n}\n';
    assert.deepEqual(await commandNames(text), ["Get-Item", "Stop-Everything", "Where-Nobody"]);
  });
});
