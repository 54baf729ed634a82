import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import {
  hashedStages,
  stageSections,
  stageWaves,
  type WindowsStageName,
  type WindowsStageRule,
  windowsExitCodes,
  windowsStages,
} from "../../../components/machine/windows/stages.ts";
import { packWindowsAzure } from "../../../components/machine/windows/userData.ts";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import type { PodNetwork } from "../../../components/model/podNetwork.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import {
  commandNames,
  cures,
  lacking,
  limits,
  needs,
  syntaxErrors,
  tokens,
  tooNew,
} from "../../support/powershellRules.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleAccess, windowsExamples, windowsPool } from "../examples.ts";

const shared = new URL("../../../components/machine/windows/scripts/", import.meta.url);
const ps1 = (folder: URL) => readdirSync(folder).filter((name) => name.endsWith(".ps1"));
const sampleFolder = new URL("../../../components/kubernetes/samples/", import.meta.url);
const samples = ps1(sampleFolder).map((name) => ({ name, text: readFileSync(new URL(name, sampleFolder), "utf8") }));

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
    it(`${title} parses, and is to PowerShell the same without comments and indentation`, async () => {
      assert.deepEqual(await syntaxErrors(script), []);
      assert.deepEqual(await tokens(script), await tokens(written));
      assert.doesNotMatch(script.trimEnd(), /^\s*(#.*)?$/m);
    });

  it("are plain ASCII, which needs no byte order mark", () => {
    for (const { written, title } of all) assert.match(written, /^[\x20-\x7e\n]*$/, title);
  });
});

/**
 * Commands of Windows PowerShell 5.1 and of the modules of Windows Server that the scripts call. A name on no list is a
 * slip, which PowerShell itself reports only when it gets there.
 */
const ofWindows: ReadonlySet<string> = new Set(
  `Add-Member Add-MpPreference Add-Type ConvertFrom-Json ConvertTo-Json Copy-Item Disable-LocalUser ForEach-Object
  Format-List Format-Table Get-Acl Get-ChildItem Get-CimInstance Get-Command Get-FileHash Get-Item Get-ItemProperty Get-LocalUser Get-NetAdapter Get-NetFirewallRule
  Get-NetIPAddress Get-NetRoute Get-Partition Get-PartitionSupportedSize Get-Process Get-Random Get-ScheduledTask Get-ScheduledTaskInfo
  Get-Service Get-SmbGlobalMapping Get-WindowsFeature Get-WinEvent Install-WindowsFeature Invoke-CimMethod Join-Path New-CimInstance New-CimSession Remove-CimSession
  New-Item New-ItemProperty New-NetFirewallRule New-NetRoute New-Object New-ScheduledTaskAction New-ScheduledTaskPrincipal
  New-ScheduledTaskSettingsSet New-ScheduledTaskTrigger New-Service New-TimeSpan Out-Null Out-String Register-ScheduledTask Remove-Item Remove-ItemProperty
  Remove-NetFirewallRule Remove-NetRoute Remove-SmbGlobalMapping Resize-Partition Restart-Computer Select-Object Select-String Set-CimInstance
  Set-ItemProperty Set-Service Set-Variable Sort-Object Split-Path Start-Process Start-ScheduledTask Start-Sleep Stop-Process
  Test-Path Unregister-ScheduledTask Update-MpSignature Where-Object Write-Host Write-Verbose`.split(/\s+/),
);

function defined(text: string) {
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

function included(network: PodNetwork) {
  return new Set(
    windowsScripts(network).flatMap((name) => [...closure(name, network)].filter((other) => other !== name)),
  );
}

const networks = Object.values(podNetworks);
const everyScript = networks.flatMap((network) =>
  windowsScripts(network).map((name) => readWindowsScript(name, network)),
);
describe("commands of the PowerShell scripts", () => {
  for (const network of networks) {
    const read = included(network);
    for (const name of windowsScripts(network).filter((script) => !read.has(script)))
      it(`${name} calls only what Windows or its own files have (${network.name})`, async () => {
        // A stage runs inside stage.ps1 and sees its functions.
        const scripts = [
          ...closure(name, network),
          ...(windowsStages.some(({ script }) => script === name) ? closure("stage.ps1", network) : []),
        ];
        const functions = new Set(scripts.flatMap((script) => defined(readWindowsScript(script, network))));
        const unknown: string[] = [];
        for (const script of closure(name, network))
          for (const command of await commandNames(readWindowsScript(script, network)))
            if (!ofWindows.has(command) && !functions.has(command)) unknown.push(`${script}: ${command}`);
        assert.deepEqual(unknown, []);
      });
  }

  for (const [what, pattern, places] of cures)
    it(`${what} in one place only: ${places.join(", ") || "none"}`, () => {
      const found = networks.flatMap((network) =>
        windowsScripts(network).filter((name) => pattern.test(readWindowsScript(name, network))),
      );
      found.push(...samples.filter(({ text }) => pattern.test(text)).map(({ name }) => name));
      assert.deepEqual(
        [...new Set(found)].filter((name) => !places.includes(name)),
        [],
      );
    });

  for (const { name, text } of samples)
    it(`the sample ${name} parses`, async () => {
      assert.deepEqual(await syntaxErrors(text), []);
    });

  it("calls have a limit and texts an encoding, the loader's too", async () => {
    const loaders = windowsExamples("azure").map(({ payload }) =>
      Buffer.from(packWindowsAzure(payload), "base64").toString("utf8"),
    );
    assert.notEqual(loaders.length, 0);
    for (const text of [...everyScript, ...samples.map((sample) => sample.text), ...loaders.slice(0, 1)])
      assert.deepEqual(await lacking(text, needs), []);
  });

  it("ask of PowerShell and .NET what 5.1 has", async () => {
    for (const text of [...everyScript, ...samples.map((sample) => sample.text)])
      assert.deepEqual(await tooNew(text), []);
  });

  it("watchers and collectors call WMI and programs with a limit", async () => {
    for (const network of networks)
      for (const name of ["watch-health.ps1", "watch-notices.ps1", "prepull.ps1", "collect-logs.ps1"])
        for (const script of closure(name, network))
          assert.deepEqual(await lacking(readWindowsScript(script, network), limits), [], `${name}: ${script}`);
  });

  it("a stage asks WMI and makes optional settings with a limit", async () => {
    for (const { script } of windowsStages) {
      const rules = script === "apply-settings.ps1" ? limits : limits.slice(0, 1);
      assert.deepEqual(await lacking(readWindowsScript(script, podNetworks.flannel), rules), [], script);
    }
  });
});

const names = windowsStages.map(({ name }) => name);

/** Fingerprints where one stage's input or one script has changed. */
function hashes(change?: WindowsStageName, script = (name: string) => name): ReadonlyMap<WindowsStageName, string> {
  const stages = windowsStages.map((stage) => ({ ...stage, inputs: () => [stage.name, stage.name === change] }));
  const spec = exampleSpec("aws-prod");
  const pool = windowsPool(spec);
  const access = exampleAccess(spec, pool.name);
  const source = { spec, pool, access, sections: stageSections({ spec, pool, access }, []), contents: [] };
  return new Map(hashedStages(stages, source, script).map(({ name, hash }) => [name, hash]));
}

/** Stages whose fingerprints differ. */
const changed = (after: ReadonlyMap<WindowsStageName, string>): readonly WindowsStageName[] => {
  const before = hashes();
  return [...after].filter(([name, hash]) => before.get(name) !== hash).map(([name]) => name);
};

/** Stages that need the given one, directly or not, and itself. */
function dependants(name: WindowsStageName, stages: readonly WindowsStageRule[]): readonly WindowsStageName[] {
  const found = new Set([name]);
  for (const stage of stages) if (stage.needs.some((need) => found.has(need))) found.add(stage.name);
  return [...found].sort();
}

describe("the stages of a Windows node", () => {
  it("send back only stages that are done before", () => {
    const sending = windowsStages.filter(({ sendsBack }) => sendsBack !== undefined);
    assert.ok(sending.length > 2);
    // What a Ready node does last sends back nothing.
    assert.ok(!sending.some(({ name }) => name === "after"));
    for (const { name, sendsBack = [] } of sending)
      for (const back of sendsBack) assert.ok(dependants(back, windowsStages).includes(name), `${name} ${back}`);
  });

  it("have different exit codes of processes", () => {
    const codes = [...windowsStages.map(({ exitCode }) => exitCode), ...Object.values(windowsExitCodes)];
    assert.equal(new Set(codes).size, codes.length);
    for (const { exitCode } of windowsStages) assert.ok(exitCode > 19 && exitCode < 64, `${exitCode}`);
  });

  it("come once, after their needs, never beside one with their service or network", () => {
    const waves = stageWaves(windowsStages);
    assert.deepEqual(waves.flat().sort(), [...names].sort());
    const wave = (name: WindowsStageName) => waves.findIndex((members) => members.includes(name));
    for (const { name, needs, connects } of windowsStages) {
      for (const need of needs) assert.ok(wave(need) < wave(name), `${need} before ${name}`);
      if (connects) assert.notEqual(wave(name), wave("network"), name);
    }
    for (const members of waves) {
      const held = windowsStages.filter(({ name }) => members.includes(name)).flatMap(({ services = [] }) => services);
      assert.equal(new Set(held).size, held.length, members.join(" and "));
    }
  });

  it("hold the services that their scripts touch", () => {
    for (const { name, script: file, services = [] } of windowsStages) {
      const script = readWindowsScript(file, podNetworks.flannel);
      for (const service of ["kubelet", "containerd"] as const) {
        const touches = new RegExp(
          `(Stop-Service|Start-Service|Restart-Service|Start-NodeService|New-Service|Set-Service|Set-Recovery)[^\\n]*\\b${service}\\b`,
        );
        if (touches.test(script)) assert.ok(services.includes(service), `${name} touches ${service}`);
      }
    }
  });

  it("a changed input changes its stage's fingerprint and those behind", () => {
    for (const { name } of windowsStages)
      assert.deepEqual(changed(hashes(name)).toSorted(), dependants(name, windowsStages), name);
  });

  it("a changed script repeats the stages that use it", () => {
    assert.deepEqual(changed(hashes(undefined, (name) => (name === "routes.ps1" ? "fixed" : name))), [
      "network",
      "before",
      "join",
      "services",
      "programs",
      "ready",
      "after",
    ]);
  });
});
