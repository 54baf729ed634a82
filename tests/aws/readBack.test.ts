import assert from "node:assert/strict";
import path from "node:path";
import { readBack } from "../../plan/fakes/readBack.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { declaredResource } from "../../plan/providers/declared.ts";
import { runStack } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

/** Whether a resource's second update would remove what the provider has read back. */
function removedNextTime({ type, inputs, options }: RecordedResource): boolean {
  const field = readBack[type]?.field;
  return field !== undefined && inputs[field] === undefined && !options.ignoreChanges.includes(field);
}

/**
 * Optional inputs that are not computed: only these are `undefined` among the outputs (pulumi-terraform-bridge,
 * pkg/tfgen).
 */
function plainInputs(type: string): readonly string[] {
  const { inputs, outputs } = declaredResource(type);
  return [...outputs].filter(([name, { optional }]) => optional && inputs.has(name)).map(([name]) => name);
}

const runs = await Promise.all(["aws-dev", "aws-prod", "aws-restricted"].map((stack) => runStack(stack)));
const resources = runs.flatMap(({ program }) => program.resources).filter(({ type }) => type.startsWith("aws:"));

describe("what AWS reads back", () => {
  it("is set or ignored, so that a second update changes nothing", () => {
    for (const type of Object.keys(readBack))
      assert.ok(
        resources.some((each) => each.type === type),
        type,
      );
    const removed = resources.filter(removedNextTime).map(({ name }) => name);
    assert.deepEqual(removed, []);
  });

  it("would be found where it is neither", () => {
    const bare = resources.map((each) => ({ ...each, options: { ...each.options, ignoreChanges: [] } }));
    const found = new Set(bare.filter(removedNextTime).map(({ type }) => type));
    assert.deepEqual([...found].sort(), Object.keys(readBack).sort());
  });

  // Another version of the package may bring more of these: look into the provider's Read before you accept a new line
  // here.
  it("is nothing else among the inputs that are optional, not computed and not set", () => {
    const lines = [...Map.groupBy(resources, ({ type }) => type)].map(([type, all]) => {
      const unset = plainInputs(type).filter((field) => all.some(({ inputs }) => inputs[field] === undefined));
      return `${type.split(":")[1]}: ${unset.sort().join(" ")}`.trim();
    });
    matchSnapshot(path.join(import.meta.dirname, "snapshots", "unset-inputs.txt"), `${lines.sort().join("\n")}\n`);
  });
});
