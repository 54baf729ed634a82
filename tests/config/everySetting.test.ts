import assert from "node:assert/strict";
import { cases, changedConfigs } from "../plan/changedConfigs.ts";
import { differing, leaves, plainConfig } from "./settings.ts";

/** Settings without a changed config, each with its reason. */
const withoutRow: Readonly<Record<string, string>> = {
  cloud: "a cluster stays where it is",
  "network.existing": "fixed for a cluster's life; tests/program/existingNetwork.slow.test.ts",
  acknowledge: "no resource has it",
  "pools[].ccgPlugin": "goes with addons.gmsa; what it adds to a node is in tests/machine/windows/ccg.test.ts",
};

describe("each setting of a stack file", () => {
  it("has a row of changed config, by its value or by the name of its part, or a reason for none", () => {
    const touched = new Set(
      changedConfigs.flatMap(({ before, after }) => differing(plainConfig(before), plainConfig(after))),
    );
    const named = cases.flatMap(({ what }) => [...what.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
    const isWithin = (leaf: string, part: string): boolean =>
      leaf === part || [".", "["].some((mark) => leaf.startsWith(part + mark));
    const without = leaves.flatMap(([leaf]) =>
      touched.has(leaf) || named.some((part) => isWithin(leaf, part)) ? [] : [leaf],
    );
    const reasons = Object.keys(withoutRow);
    assert.deepEqual(
      without.filter((leaf) => !reasons.some((part) => isWithin(leaf, part))),
      [],
    );
    assert.deepEqual(
      reasons.filter((part) => !without.some((leaf) => isWithin(leaf, part))),
      [],
    );
  });
});
