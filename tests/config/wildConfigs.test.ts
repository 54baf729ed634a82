import assert from "node:assert/strict";
import fc from "fast-check";
import { loadConfig } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { changedConfig, changedConfigs } from "../plan/changedConfigs.ts";
import { type PlainConfig, setAt } from "../support/changedAt.ts";
import { configTexts } from "../support/stacks.ts";

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

function assertTold(error: ConfigError): void {
  assert.ok(error.problems.length > 0);
  for (const { path, message, allowed } of error.problems) {
    assert.ok(path.startsWith("config.fenestra:"), path);
    assert.match(message, /^\S.*[^.\s]$/);
    assert.ok(allowed.length > 3 && allowed !== "undefined", `${path}: ${allowed}`);
    assert.ok(error.message.includes(`${path}: ${message}`));
  }
  const sentences = error.problems.map(({ path, message }) => `${path}\n${message}`);
  assert.equal(new Set(sentences).size, sentences.length, "each problem is told once");
  const found = error.message.split("\n").filter((line) => line.startsWith("    found:"));
  const tooLong = found.filter((line) => line.length > "    found:   ".length + 80);
  assert.deepEqual(tooLong, []);
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
    fc.assert(property, { numRuns: 300 });
    assert.ok(seen.cluster > 30 && seen.error > 100, JSON.stringify(seen));
  }).timeout(60_000);
});
