import assert from "node:assert/strict";
import fc from "fast-check";
import {
  hashedStages,
  stageSections,
  stageWaves,
  type WindowsServiceName,
  type WindowsStageName,
  type WindowsStageRule,
  windowsExitCodes,
  windowsStages,
} from "../../../components/machine/windows/stages.ts";
import { readWindowsScript } from "../../../components/machine/windows/worker.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { exampleSpec } from "../../support/stacks.ts";
import { exampleAccess, windowsPool } from "../examples.ts";

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

  it("have exit codes that are all different and survive as a process's own", () => {
    const codes = [...windowsStages.map(({ exitCode }) => exitCode), ...Object.values(windowsExitCodes)];
    assert.equal(new Set(codes).size, codes.length);
    for (const { exitCode } of windowsStages) assert.ok(exitCode > 19 && exitCode < 64, `${exitCode}`);
  });

  it("come after what they need, once, never beside one with the same service or, with connections, beside the network", () => {
    const list = fc.constantFrom<readonly WindowsServiceName[]>(
      [],
      ["kubelet"],
      ["containerd"],
      ["kubelet", "containerd"],
    );
    const any = fc.tuple(
      fc.shuffledSubarray([...windowsStages], { minLength: windowsStages.length }),
      fc.array(list, { minLength: windowsStages.length, maxLength: windowsStages.length }),
    );
    fc.assert(
      fc.property(any, ([shuffled, lists]) => {
        const stages = shuffled.map((stage, index) => ({ ...stage, services: lists[index] ?? [] }));
        const waves = stageWaves(stages);
        assert.deepEqual(waves.flat().sort(), [...names].sort());
        const wave = (name: WindowsStageName): number => waves.findIndex((members) => members.includes(name));
        for (const { name, needs, connects } of windowsStages) {
          for (const need of needs) assert.ok(wave(need) < wave(name), `${need} before ${name}`);
          if (connects) assert.notEqual(wave(name), wave("network"), name);
        }
        for (const wave of waves) {
          const held = wave.flatMap((name) => stages.find((stage) => stage.name === name)?.services ?? []);
          assert.equal(new Set(held).size, held.length, wave.join(" and "));
        }
      }),
    );
  });

  it("hold the services that their scripts stop, register or start", () => {
    for (const { name, script: file, services = [] } of windowsStages) {
      const script = readWindowsScript(file, podNetworks.flannel);
      for (const service of ["kubelet", "containerd"] as const) {
        const touches = new RegExp(
          `(Stop-Service|Start-Service|Restart-Service|Start-NodeService|New-Service|Set-Service|Set-Recovery)[^\\n]*\\b${service}\\b`,
        );
        if (touches.test(script)) assert.ok(services.includes(service), `${name} touches ${service}`);
      }
    }
    const touching = windowsStages.filter(({ services = [] }) => services.length > 0).map(({ name }) => name);
    assert.deepEqual(touching, ["artifacts", "containerd", "proxy", "network", "services"]);
  });

  it("that need each other are refused", () => {
    const circle = windowsStages.map((stage) =>
      stage.name === "features" ? { ...stage, needs: ["ready"] as const } : stage,
    );
    assert.throws(() => stageWaves(circle), RangeError);
  });

  it("a changed input changes the fingerprint of the stage and of every one behind it, and of no other", () => {
    for (const { name } of windowsStages)
      assert.deepEqual(changed(hashes(name)).toSorted(), dependants(name, windowsStages), name);
  });

  it("a changed script repeats the stages that use it", () => {
    const rerun = changed(hashes(undefined, (name) => (name === "routes.ps1" ? "fixed" : name)));
    assert.deepEqual(rerun, ["network", "before", "join", "services", "programs", "ready", "after"]);
  });
});
