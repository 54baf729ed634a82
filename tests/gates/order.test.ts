import assert from "node:assert/strict";
import type * as pulumi from "@pulumi/pulumi";
import { changeGuard, reachedGuard } from "../../components/gates/controlPlane.ts";
import { type ReachedState, reachedOf } from "../../components/model/upgrade.ts";
import { concerns, replacementRow } from "../../plan/replacement/table.ts";
import { closure, resource, runStack, withMocks } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { runHook } from "./serving.ts";

const machineTypes = ["aws:ec2/instance:Instance", "azure-native:compute:VirtualMachine"];
const own = { "aws-prod": [], "azure-prod": ["address", "etcd"] } as const;

for (const stack of ["aws-prod", "azure-prod"] as const)
  describe(`the gate before a control-plane machine of ${stack}`, () => {
    const chain = async () => {
      const { program, hooks } = await runStack(stack);
      const machines = program.resources.filter(({ type }) => machineTypes.includes(type));
      assert.equal(machines.length, 3);
      return machines.map((machine, index) => {
        const gate = resource({ program, hooks }, "pulumi:index:Stash", `${stack}-control-plane-before-${index}`);
        return { program, machine, gate, prefix: `${stack}-control-plane-${index}-` };
      });
    };

    it("waits for all that the machine does, so that nothing fails between them", async () => {
      for (const { program, machine, gate, prefix } of await chain()) {
        const [before, all] = [gate, machine].map((each) => closure(program.resources, each));
        // Azure's disk and card, whose replacement deletes the machine first, stand behind the gate.
        assert.deepEqual(
          program.resources
            .filter(({ urn }) => all?.has(urn) && !before?.has(urn))
            .filter((each) => each !== gate && each.custom)
            .map(({ name }) => name)
            .sort(),
          own[stack].map((part) => prefix + part),
        );
      }
    });

    it("is asked by every change of another resource that replaces the machine", async () => {
      for (const { program, machine, gate } of await chain()) {
        const forcing = [...(replacementRow(machine.type)?.replaces ?? []), ...machine.options.replaceOnChanges];
        const from = Object.entries(machine.propertyDependencies)
          .filter(([input]) => forcing.some((path) => concerns(input, path)))
          .flatMap(([, urns]) => urns);
        const held = new Set(gate.propertyDependencies.input);
        const missing = program.resources.filter(({ urn }) => from.includes(urn) && !held.has(urn));
        assert.ok(from.length > 0);
        // What stands behind the gate has passed it when it is replaced.
        const early = missing.filter((each) => !closure(program.resources, each).has(gate.urn));
        assert.deepEqual(
          early.map(({ name }) => name),
          [],
        );
      }
    });
  });

describe("an update", () => {
  for (const stack of ["aws-prod", "azure-prod"] as const)
    it(`of ${stack} moves the API servers before pools and what runs in the cluster`, async () => {
      const { resources } = (await runStack(stack)).program;
      const gate = resources.find(({ name }) => name === `${stack}-control-plane-api`);
      const later = resources.filter(({ type }) => /^kubernetes:|:Group$|:VirtualMachineScaleSet$/.test(type));
      const early = later.filter((each) => gate === undefined || !closure(resources, each).has(gate.urn));
      assert.ok(later.length > 50);
      assert.deepEqual(
        early.map(({ name }) => name),
        [],
      );
    });
});

describe("the guards of changes", () => {
  const guarded = async (make: () => pulumi.Resource, old: unknown) => {
    const recorded = await withMocks(() => void make());
    assert.partialDeepStrictEqual(recorded.hooks.get("guard"), { opts: { onDryRun: true } });
    await runHook(recorded, "guard", { oldInputs: { input: old } });
  };
  const asked = (old: unknown) => guarded(() => changeGuard("guard", { version: "1.36.4", replicas: 3 }, {}), old);
  const reached = (old: unknown, keys: Omit<ReachedState, "version"> = {}) =>
    guarded(() => reachedGuard("guard", { version: "1.36.4", ...keys }, {}), old);

  it("refuse in a preview", async () => {
    await asked({ version: "1.35.1", replicas: 1 });
    await assert.rejects(asked({ version: "1.34.1", replicas: 5 }), /2 problems(.|\n)*smaller(.|\n)*skips a minor/);
    await reached("1.35.9");
    await assert.rejects(reached("1.37.0"), /goes back from 1\.37\.0, which all control-plane machines have reached/);
  });

  for (const [list, first, second, verb] of [
    ["encryptionKeys", "key1", "key2", "encrypts"],
    ["serviceAccountKeys", "ecdsa", "rsa-1", "signs"],
  ] as const)
    it(`refuse to begin with a key of ${list} that was asked for by an update which was cut off`, async () => {
      const [asked, begun] = [{ [list]: [first, second] }, { [list]: [second, first] }];
      await reached("1.36.4", asked);
      await reached({ version: "1.36.4", ...asked }, begun);
      await assert.rejects(reached("1.36.4", begun), new RegExp(`${verb} with ${second}, which no API server`));
      await assert.rejects(
        reached({ version: "1.36.4", ...asked }, { [list]: [second] }),
        new RegExp(`drops ${first}, which ${verb} until now`),
      );
    });

  it("keep what was reached as it was, a release, as long as there are only the first keys", async () => {
    for (const keys of [["ecdsa"], ["ecdsa", "rsa-1"]] as const) {
      const state = reachedOf({ ...exampleSpec("aws-prod"), serviceAccountKeys: keys });
      const recorded = await withMocks(() => void reachedGuard("guard", state, {}));
      const { version } = exampleSpec("aws-prod").kubernetes;
      const kept = keys.length === 1 ? version : { version, serviceAccountKeys: [...keys] };
      assert.deepEqual(resource(recorded, "pulumi:index:Stash", "guard").inputs.input, kept);
    }
  });

  it("refuse the first update of an example, and leave it alone in a preview", async () => {
    const unfit = [{ path: "config.fenestra:httpProxy", value: "x", message: "is an example", allowed: "your own" }];
    const recorded = await withMocks(() => void changeGuard("guard", { version: "1.36.4", replicas: 3 }, {}, unfit));
    assert.deepEqual(resource(recorded, "pulumi:index:Stash", "guard").options.hooks, {
      beforeCreate: ["guard-first"],
      beforeUpdate: ["guard"],
    });
    const hook = recorded.hooks.get("guard-first");
    assert.ok(hook !== undefined && "opts" in hook);
    assert.notEqual(hook.opts?.onDryRun, true);
    await assert.rejects(runHook(recorded, "guard-first"), /httpProxy: is an example/);
  });

  it("read what the engine hands them with distrust", async () => {
    for (const odd of [null, 1, { version: 1, replicas: 3 }]) {
      await assert.rejects(asked(odd), /cannot be read/);
      await assert.rejects(reached(odd), /cannot be read/);
    }
  });
});
