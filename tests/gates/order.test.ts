import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { mapOf, reveal } from "../../components/gates/resources.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import type { RecordedProgram, RecordedResource } from "../../plan/program/recorded.ts";
import { concerns, replacementRow } from "../../plan/replacement/table.ts";
import { runStack } from "../support/mocks.ts";
import { stackConfig } from "../support/stacks.ts";

/** URNs of all that a resource waits for. */
function closure(resources: RecordedProgram["resources"], start: RecordedResource): ReadonlySet<string> {
  const seen = new Set(start.dependencies);
  for (const urn of seen)
    for (const next of resources.find((each) => each.urn === urn)?.dependencies ?? []) seen.add(next);
  return seen;
}

const machineTypes = ["aws:ec2/instance:Instance", "azure-native:compute:VirtualMachine"];
const own = { "aws-prod": [], "azure-prod": ["address", "etcd"] } as const;

for (const stack of ["aws-prod", "azure-prod"] as const)
  describe(`the gate before a control-plane machine of ${stack}`, () => {
    const chain = async () => {
      const { program } = await runStack(stack);
      const machines = program.resources.filter(({ type }) => machineTypes.includes(type));
      assert.equal(machines.length, 3);
      return machines.map((machine, index) => {
        const gate = program.resources.find(({ name }) => name === `${stack}-control-plane-before-${index}`);
        assert.ok(gate !== undefined);
        return { program, machine, gate, prefix: `${stack}-control-plane-${index}-` };
      });
    };

    it("waits for all that the machine does, so that nothing fails between them", async () => {
      for (const { program, machine, gate, prefix } of await chain()) {
        const before = closure(program.resources, gate);
        const late = program.resources.filter(
          ({ urn }) => closure(program.resources, machine).has(urn) && !before.has(urn),
        );
        const behind = late.filter((each) => each !== gate && each.custom).map(({ name }) => name);
        // Azure's disk and card, whose replacement deletes the machine first, stand behind the gate.
        assert.deepEqual(
          behind.sort(),
          own[stack].map((part) => prefix + part),
        );
      }
    });

    it("is asked for another size or generation of its own machine alone, which alone is made of it", async () => {
      const given = JSON.parse(stackConfig(stack)["fenestra:controlPlane"] ?? "");
      const size = cloudFacts[stack === "aws-prod" ? "aws" : "azure"].sizes.another(given.size ?? "m7i.large");
      for (const more of [{ sizes: { "cp-1": size } }, { generations: { "cp-1": 2 } }]) {
        const { resources } = (await runStack(stack, { controlPlane: { ...given, ...more } })).program;
        const fingerprint = (gate: RecordedResource | undefined) => mapOf(gate?.inputs.input).fingerprint;
        const asked = (await chain()).map(
          ({ gate }) =>
            !isDeepStrictEqual(fingerprint(resources.find(({ urn }) => urn === gate.urn)), fingerprint(gate)),
        );
        assert.deepEqual(asked, [false, true, false]);
        const made = resources.filter(({ inputs }) => JSON.stringify(reveal(inputs)).includes(`"${size}"`));
        const part = stack === "aws-prod" ? "template" : "instance";
        const names = "sizes" in more ? [`${stack}-control-plane-1-${part}`] : [];
        assert.deepEqual(
          made.map(({ name }) => name),
          names,
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
