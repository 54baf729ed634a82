import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { expectedPools } from "../../rehearsal/checks/selection.ts";
import { withEveryAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";

describe("a rehearsal with every add-on", () => {
  for (const stack of stackNames(testStacks))
    it(`has a valid config with a node in every pool: ${stack}`, () => {
      const config = loadConfig(withEveryAddOn(stackConfig(stack)));
      assert.ok(config.addons.samples === true && config.addons.exporters && config.addons.gmsa !== undefined);
      for (const { name, count } of expectedPools(config)) assert.ok(count > 0, name);
      assert.equal(config.network.policies, config.network.pods === "flannel" ? "linux" : "none");
      const written = loadConfig(stackConfig(stack));
      const pools = config.pools.map(({ name, os, size }) => [name, os, size]);
      const wanted = written.pools.map(({ name, os, size }) => [name, os, size]);
      assert.deepEqual(pools, wanted);
    });
});

describe("negative controls", () => {
  it("have each a test", () => {
    const folder = import.meta.dirname;
    const tests = globSync("*.test.ts", { cwd: folder }).map((name) => readFileSync(path.join(folder, name), "utf8"));
    const untested = Object.keys(breakages).filter((name) => !tests.some((text) => text.includes(`"${name}"`)));
    assert.deepEqual(untested, []);
  });
});
