import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Context } from "mocha";
import { goRun } from "../support/skip.ts";
import { testStacks } from "../support/stacks.ts";
import { suiteFolder } from "../support/temporary.ts";

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
  const copy = suiteFolder();

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

  const mistakes: readonly (readonly [string, string, string, string, RegExp])[] = [
    ["a range without three numbers", "Pulumi.yaml", "<4.0.0", "<4", /Could not parse Range "<4"/],
    ["a runtime that has two names", "Pulumi.yaml", "name: nodejs", "name: [nodejs]", /could not validate/],
    ["a stack file that is no YAML", "stacks/Pulumi.aws-dev.yaml", "config:", "config: {", /^Pulumi\.aws-dev\.yaml: /],
  ];
  for (const [what, file, from, to, problem] of mistakes)
    it(`would not be with ${what}`, function () {
      cpSync(path.join(root, "Pulumi.yaml"), path.join(copy, "Pulumi.yaml"));
      cpSync(testStacks, path.join(copy, "stacks"), { recursive: true });
      const text = readFileSync(path.join(copy, file), "utf8");
      assert.ok(text.includes(from));
      writeFileSync(path.join(copy, file), text.replace(from, to));
      const [first = ""] = refused(this, copy, oldest);
      assert.match(first, problem);
    });
});
