import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Context } from "mocha";
import { goRun } from "../support/skip.ts";

const root = path.join(import.meta.dirname, "../../");
const projects = { program: root, "program of ci": path.join(root, "examples/ci") };

/** The guides' oldest CLI; the newest is package.json's SDK. */
const oldest = "3.249.0";
const newest = /"@pulumi\/pulumi": "([\d.]+)"/.exec(readFileSync(path.join(root, "package.json"), "utf8"))?.[1] ?? "";

/** What the Pulumi CLI refuses of a folder's project and stack files, a problem a line. */
function refused(test: Context, folder: string, ...versions: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = goRun(test, "tools/readers", "./pulumi", [folder, ...versions]);
  assert.ok(status === 0 || (status === 1 && stdout !== ""), stderr);
  return stdout.split("\n").filter((line) => line !== "");
}

describe("a project and its stack files, read with the code of the Pulumi CLI,", () => {
  for (const [name, folder] of Object.entries(projects))
    it(`are fine for the ${name}, with the versions that the guides promise and no others`, function () {
      assert.match(newest, /^\d+\.\d+\.\d+$/);
      assert.deepEqual(refused(this, folder, oldest, newest), []);
      const outside = ["3.248.9", "4.0.0"];
      const wanted = outside.map(
        (version) => `Pulumi CLI version ${version} does not satisfy the version range ">=3.249.0 <4.0.0"`,
      );
      assert.deepEqual(refused(this, folder, ...outside), wanted);
    });
});
