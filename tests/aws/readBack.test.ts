import assert from "node:assert/strict";
import { readBack } from "../../plan/fakes/readBack.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { runStack } from "../support/mocks.ts";

/** Whether a resource's second update would remove what the provider has read back. */
function removedNextTime({ type, inputs, options }: RecordedResource): boolean {
  const field = readBack[type]?.field;
  return field !== undefined && inputs[field] === undefined && !options.ignoreChanges.includes(field);
}

const runs = await Promise.all(["aws-dev", "aws-prod", "aws-restricted"].map((stack) => runStack(stack)));
const resources = runs.flatMap(({ program }) => program.resources).filter(({ type }) => type.startsWith("aws:"));

describe("what AWS reads back", () => {
  it("is set or ignored, so that a second update changes nothing", () => {
    const removed = resources.filter(removedNextTime).map(({ name }) => name);
    assert.deepEqual(removed, []);
  });

  it("would be found where it is neither", () => {
    const bare = resources.map((each) => ({ ...each, options: { ...each.options, ignoreChanges: [] } }));
    const found = new Set(bare.filter(removedNextTime).map(({ type }) => type));
    assert.deepEqual([...found].sort(), Object.keys(readBack).sort());
  });
});
