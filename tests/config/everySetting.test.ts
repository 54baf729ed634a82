import assert from "node:assert/strict";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { fromJson } from "../../components/model/json.ts";
import { cases, changedConfigs } from "../plan/changedConfigs.ts";
import { leavesOf } from "../support/leaves.ts";

const parsed = (text: string): unknown => {
  const value = fromJson(text);
  return value === undefined ? text : value;
};

/** Plain values, keys without the project's prefix. */
const plainConfig = (config: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(config).map(([key, text]) => [key.replace(/^fenestra:/, ""), parsed(text)]));

const leaves = leavesOf(configJsonSchema());

const forms = leaves.map(([leaf]) => ({
  leaf,
  form: new RegExp(`^${leaf.replaceAll(".", "\\.").replaceAll("[]", "\\[\\d+\\]").replaceAll("*", ".+?")}$`),
}));

function differing(old: unknown, now: unknown, at = ""): readonly string[] {
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  const own = forms.find(({ form }) => form.test(at))?.leaf;
  if (own !== undefined) return [own];
  const step = (key: string): string =>
    Array.isArray(old ?? now) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;
  return [...new Set([old, now].flatMap((value) => Object.keys(Object(value))))].flatMap((key) =>
    differing(Reflect.get(Object(old), key), Reflect.get(Object(now), key), step(key)),
  );
}

/** Settings without a changed config, each with its reason. */
const withoutRow: Readonly<Record<string, string>> = {
  cloud: "a cluster stays where it is",
  "network.existing": "fixed for a cluster's life; tests/program/existingNetwork.slow.test.ts",
  acknowledge: "no resource has it",
  "pools[].ccgPlugin": "goes with addons.gmsa; what it adds to a node is in tests/machine/windows/worker.test.ts",
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
