// Sees what nothing faster does: rules that throw, or tell a mistake twice, for a thousand configs.
import assert from "node:assert/strict";
import fc from "fast-check";
import { loadConfig } from "../../components/config/load.ts";
import { readArtifactLock } from "../../components/model/artifacts.ts";
import { type ClusterSpec, clusterSpec } from "../../components/model/clusterSpec.ts";
import { ConfigError } from "../../components/model/problem.ts";
import {
  arbitraryConfig,
  arbitraryValidConfig,
  arbitraryWildConfig,
  type PlainConfig,
} from "../support/arbitraryConfig.ts";
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

function assertSound(spec: ClusterSpec): void {
  assert.equal(new Set(spec.pools.map(({ name }) => name)).size, spec.pools.length);
  for (const { name, count, autoscale, zones, size } of spec.pools) {
    assert.ok(name.length <= 22);
    assert.ok(count >= (autoscale?.min ?? 0) && count <= (autoscale?.max ?? 1000));
    assert.ok(zones.length > 0 && zones.every((zone) => spec.network.zones.some((plan) => plan.zone === zone)));
    assert.equal(size.arch, "amd64");
  }
  assert.ok(spec.controlPlane.members.length % 2 === 1);
}

describe("random stack configs", () => {
  it("that are valid describe a cluster", () => {
    fc.assert(
      fc.property(arbitraryValidConfig, (config) => {
        const result = outcome(config);
        if (result instanceof ConfigError) assert.fail(result.message);
        assertSound(result);
      }),
      { numRuns: 700 },
    );
  });

  it("of any kind give a cluster or one error, never another exception, and the same one each time", () => {
    const seen = { cluster: 0, error: 0 };
    fc.assert(
      fc.property(fc.oneof(arbitraryConfig(), arbitraryWildConfig()), (config) => {
        const result = outcome(config);
        if (result instanceof ConfigError) {
          seen.error += 1;
          assertTold(result);
          const again = outcome(structuredClone(config));
          assert.equal(again instanceof ConfigError && again.message, result.message);
        } else {
          seen.cluster += 1;
          assertSound(result);
        }
      }),
      { numRuns: 1000 },
    );
    assert.ok(seen.cluster > 100 && seen.error > 100, JSON.stringify(seen));
  });
});
