import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { suiteFolder } from "./temporary.ts";

describe("a file that cannot be loaded", () => {
  const folder = suiteFolder();

  it("fails as one test with its words, beside those of others", () => {
    const lacks = 'throw new RangeError("no artifact x")';
    const files = {
      one: `await Promise.resolve(); ${lacks};`,
      two: `describe("a", () => { ${lacks}; }); describe("b", () => { it("c", () => {}); });`,
      three: 'describe("d", () => { it("e", () => {}); });',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, `${name}.test.ts`), text);
    const mocha = ["node_modules/.bin/mocha", "--reporter", "dot", `${folder}/*.test.ts`];
    const { stdout } = spawnSync(process.execPath, mocha, { encoding: "utf8" });
    assert.deepEqual(stdout.match(/2 passing|2 failing|RangeError: no artifact x/g), [
      "2 passing",
      "2 failing",
      ...Array.from({ length: 2 }, () => "RangeError: no artifact x"),
    ]);
  });
});
