import assert from "node:assert/strict";
import fc from "fast-check";
import {
  fingerprint,
  hashedStages,
  pauseSeconds,
  type StageInputs,
  stageWaves,
  type WindowsStageName,
  type WindowsStageRule,
  windowsExitCodes,
  windowsReboots,
  windowsStages,
} from "../../components/machine/windowsStages.ts";

const names = windowsStages.map(({ name }) => name);
const inputs = (change?: WindowsStageName): Readonly<Record<WindowsStageName, StageInputs>> => {
  const of = (name: WindowsStageName): StageInputs => ({ inputs: [name, name === change ? "changed" : "same"] });
  return {
    os: of("os"),
    artifacts: of("artifacts"),
    containerd: of("containerd"),
    network: of("network"),
    join: of("join"),
    services: of("services"),
    ready: of("ready"),
  };
};

/** Stages that need the given one, directly or not, and itself. */
function dependants(name: WindowsStageName, stages: readonly WindowsStageRule[]): readonly WindowsStageName[] {
  const found = new Set([name]);
  for (const stage of stages) if (stage.needs.some((need) => found.has(need))) found.add(stage.name);
  return [...found].sort();
}

describe("the stages of a Windows node", () => {
  it("run in these waves", () => {
    assert.deepEqual(stageWaves(windowsStages), [
      ["os", "artifacts"],
      ["containerd", "network"],
      ["join"],
      ["services"],
      ["ready"],
    ]);
  });

  it("have exit codes that are all different and survive as a process's own", () => {
    const codes = [...windowsStages.map(({ exitCode }) => exitCode), ...Object.values(windowsExitCodes)];
    assert.equal(new Set(codes).size, codes.length);
    for (const { exitCode } of windowsStages) assert.ok(exitCode > 19 && exitCode < 64, `${exitCode}`);
  });

  it("ask for a reboot in the first wave only, so that one is enough", () => {
    const [first = [], ...rest] = stageWaves(windowsStages);
    const asking = windowsStages.filter(({ reboots }) => reboots).map(({ name }) => name);
    assert.deepEqual(asking, ["os"]);
    assert.ok(first.includes("os"));
    assert.ok(rest.every((wave) => !wave.includes("os")));
    assert.equal(windowsReboots.expected, 1);
  });

  it("what Windows forgets at a reboot is made at each boot", () => {
    const boot = windowsStages.filter(({ scope }) => scope === "boot").map(({ name }) => name);
    assert.deepEqual(boot, ["network", "join", "services"]);
  });

  it("in any order of the list, each comes after what it needs, once, and none with connections beside the network", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...windowsStages], { minLength: windowsStages.length }), (shuffled) => {
        const waves = stageWaves(shuffled);
        assert.deepEqual(waves.flat().sort(), [...names].sort());
        const wave = (name: WindowsStageName): number => waves.findIndex((members) => members.includes(name));
        for (const { name, needs, connects } of windowsStages) {
          for (const need of needs) assert.ok(wave(need) < wave(name), `${need} before ${name}`);
          if (connects) assert.notEqual(wave(name), wave("network"), name);
        }
      }),
    );
  });

  it("a stage with connections that could run beside the network is moved behind it", () => {
    const loose = windowsStages.map((stage) =>
      stage.name === "artifacts" ? { ...stage, needs: ["os"] as const } : stage,
    );
    const waves = stageWaves(loose);
    assert.deepEqual(waves.slice(0, 3), [["os"], ["network"], ["artifacts", "join"]]);
  });

  it("that need each other are refused", () => {
    const circle = windowsStages.map((stage) =>
      stage.name === "os" ? { ...stage, needs: ["ready"] as const } : stage,
    );
    assert.throws(() => stageWaves(circle), RangeError);
  });

  it("a changed input changes the fingerprint of the stage and of every one behind it, and of no other", () => {
    const before = hashedStages(inputs(), (name) => name);
    for (const { name } of windowsStages) {
      const after = hashedStages(inputs(name), (script) => script);
      const changed = after.filter(({ hash }, index) => hash !== before[index]?.hash).map((stage) => stage.name);
      assert.deepEqual([...changed].sort(), dependants(name, windowsStages), name);
    }
  });

  it("a changed script repeats the stages that use it", () => {
    const before = hashedStages(inputs(), (name) => name);
    const after = hashedStages(inputs(), (name) => (name === "routes.ps1" ? "mended" : name));
    const changed = after.filter(({ hash }, index) => hash !== before[index]?.hash).map(({ name }) => name);
    assert.deepEqual(changed, ["network", "join", "services", "ready"]);
  });

  it("fingerprints differ for different values and agree for equal ones", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        assert.equal(fingerprint(a) === fingerprint(b), JSON.stringify(a) === JSON.stringify(b));
        assert.match(fingerprint(a), /^[0-9a-f]{16}$/);
      }),
    );
  });
});

describe("pauses between attempts", () => {
  it("are these for a Windows node", () => assert.deepEqual(pauseSeconds(10, 300), [10, 20, 40, 80, 160, 300]));

  it("grow up to the cap and never beyond", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 61, max: 3600 }), (first, cap) => {
        const pauses = pauseSeconds(first, cap);
        assert.equal(pauses[0], first);
        assert.equal(pauses.at(-1), cap);
        assert.ok(pauses.every((pause, index) => index === 0 || pause > (pauses[index - 1] ?? 0)));
      }),
    );
  });
});
