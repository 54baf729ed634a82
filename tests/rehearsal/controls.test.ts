import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { breakages } from "../../rehearsal/run/negativeControls.ts";

describe("negative controls", () => {
  it("have each a test", () => {
    const folder = import.meta.dirname;
    const tests = globSync("*.test.ts", { cwd: folder }).map((name) => readFileSync(path.join(folder, name), "utf8"));
    const untested = Object.keys(breakages).filter((name) => !tests.some((text) => text.includes(`"${name}"`)));
    assert.deepEqual(untested, []);
  });
});
