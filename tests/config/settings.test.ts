import assert from "node:assert/strict";
import fc from "fast-check";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { windowsFields } from "../../components/config/machineSchema.ts";
import { poolSchema } from "../../components/config/schema.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { fromJson } from "../../components/model/json.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { cases, changedConfig, changedConfigs } from "../plan/changedConfigs.ts";
import { configTexts, leavesOf, type PlainConfig, setAt } from "../support/stacks.ts";

const lock = readArtifactLock();

/** The cluster or the user's error; any other exception fails the test. */
function outcome(config: PlainConfig): ClusterSpec | ConfigError {
  try {
    return clusterSpec(loadConfig(configTexts(config), lock), lock);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function assertTold(error: ConfigError) {
  assert.ok(error.problems.length > 0);
  for (const { path, message, allowed } of error.problems) {
    assert.ok(path.startsWith("config.fenestra:"), path);
    assert.match(message, /^\S.*[^.\s]$/);
    assert.ok(allowed.length > 3 && allowed !== "undefined", `${path}: ${allowed}`);
    assert.ok(error.message.includes(`${path}: ${message}`));
  }
  const sentences = error.problems.map(({ path, message }) => `${path}\n${message}`);
  assert.equal(new Set(sentences).size, sentences.length, "each problem is told once");
  assert.deepEqual(
    error.message
      .split("\n")
      .filter((line) => line.startsWith("    found:"))
      .filter((line) => line.length > "    found:   ".length + 80),
    [],
  );
}

const hostileKey = fc.constantFrom("__proto__", "constructor", "toString", "length", "", "a b", "0", "ключ");

/** Every path into a tree of plain values. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return [[...path], ...steps.flatMap((step) => pathsOf(Reflect.get(value, step), [...path, step]))];
}

const edit = fc.record({
  at: fc.nat(10_000),
  key: fc.option(hostileKey, { nil: undefined, freq: 4 }),
  value: fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant(undefined),
    fc.constantFrom("x".repeat(500), -1, 1e21, "10.0.0.0/16"),
  ),
});

/** Two changes of settings together, and anything in any place: all types, missing keys, JavaScript's own keys. */
const wild = fc
  .tuple(fc.constantFrom(...changedConfigs), fc.constantFrom(...changedConfigs), fc.array(edit, { maxLength: 3 }))
  .map(([{ cloud, config: valid }, { to }, edits]): PlainConfig => {
    const config = structuredClone({ ...changedConfig(cloud, valid, to) });
    for (const { at, key, value } of edits) {
      const paths = pathsOf(config);
      const path = paths[at % paths.length] ?? [];
      // A copy: one value may come for two edits, and one that contains itself would be endless.
      setAt(config, key === undefined ? path : [...path, key], structuredClone(value));
    }
    return config;
  });

describe("a stack file with two changes and anything in any place", () => {
  it("gives a cluster or one error, never another exception, and the same one each time", () => {
    const seen = { cluster: 0, error: 0 };
    const property = fc.property(wild, (config) => {
      const result = outcome(config);
      seen[result instanceof ConfigError ? "error" : "cluster"] += 1;
      if (!(result instanceof ConfigError)) return;
      assertTold(result);
      const again = outcome(structuredClone(config));
      assert.equal(again instanceof ConfigError && again.message, result.message);
    });
    fc.assert(property, { numRuns: 150 });
    assert.ok(seen.cluster > 15 && seen.error > 50, JSON.stringify(seen));
  }).timeout(60_000);
});

const parsed = (text: string): unknown => {
  const value = fromJson(text);
  return value === undefined ? text : value;
};

/** Plain values, keys without the project's prefix. */
const plainConfig = (config: Readonly<Record<string, string>>) =>
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
  const step = (key: string) => (Array.isArray(old ?? now) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`);
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
  it("of Windows pools alone is in windowsFields, so that pools of Linux refuse it", () => {
    assert.deepEqual(
      Object.entries(poolSchema.shape)
        .filter(([, field]) => field.meta()?.description?.startsWith("Windows: "))
        .map(([name]) => name)
        .sort(),
      Object.keys(windowsFields).sort(),
    );
  });

  it("has a row of changed config, by its value or by the name of its part, or a reason for none", () => {
    const touched = new Set(
      changedConfigs.flatMap(({ before, after }) => differing(plainConfig(before), plainConfig(after))),
    );
    const named = cases.flatMap(({ what }) => [...what.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
    const isWithin = (leaf: string, part: string) =>
      leaf === part || [".", "["].some((mark) => leaf.startsWith(part + mark));
    const without = leaves.flatMap(([leaf]) =>
      touched.has(leaf) || named.some((part) => isWithin(leaf, part)) ? [] : [leaf],
    );
    const reasons = Object.keys(withoutRow);
    assert.deepEqual(
      without.filter((leaf) => !reasons.some((part) => isWithin(leaf, part))),
      [],
      "rows that tests/plan/changedConfigs.yaml lacks",
    );
    assert.deepEqual(
      reasons.filter((part) => !without.some((leaf) => isWithin(leaf, part))),
      [],
    );
  });
});
