// Sees what nothing faster does: the program in another process, and its project as Pulumi's own code reads it.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import type { Context } from "mocha";
import { goRun } from "../support/skip.ts";
import { suiteFolder } from "../support/suite.ts";

const root = path.join(import.meta.dirname, "../../");

/** What the program registers in a process at such a place. */
async function registered(stack: string, { cwd, path: folder, env, options }: Place): Promise<Record<string, string>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...options, path.join(folder, "tests/program/inputs.ts"), stack],
    { cwd, env: { PATH: process.env.PATH ?? "", ...env }, maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout);
}

interface Place {
  readonly cwd: string;
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  readonly options: readonly string[];
}

describe("the program on another machine", () => {
  const scratch = suiteFolder();

  for (const stack of ["aws-prod", "azure-prod"])
    it(`registers the very same for ${stack}: no clock, zone, language, folder or zlib of the deployer's shows`, async () => {
      const link = path.join(scratch, stack);
      symlinkSync(root, link);
      const elsewhere = {
        cwd: scratch,
        path: link,
        env: { TZ: "Pacific/Kiritimati", LC_ALL: "tr_TR.UTF-8", HOME: scratch, USER: "someone" },
        options: [
          "--preserve-symlinks",
          "--preserve-symlinks-main",
          "--import",
          path.join(link, "tests/program/elsewhere.ts"),
        ],
      };
      const here = await registered(stack, { cwd: root, path: root, env: { TZ: "UTC", LC_ALL: "C" }, options: [] });
      assert.ok(Object.keys(here).length > 200);
      assert.deepEqual(await registered(stack, elsewhere), here);
    });
});

/** The guides' oldest CLI; the newest is package.json's SDK. */
const oldest = "3.249.0";
const newest = /"@pulumi\/pulumi": "([\d.]+)"/.exec(readFileSync(path.join(root, "package.json"), "utf8"))?.[1] ?? "";

/** What the Pulumi CLI refuses of a folder's project and stack files, a problem a line. */
function refused(test: Context, folder: string, ...versions: readonly string[]) {
  const { status, stdout, stderr } = goRun(test, "rehearsal/runtime/readers", "./pulumi", [folder, ...versions]);
  assert.ok(status === 0 || (status === 1 && stdout !== ""), stderr);
  return stdout.split("\n").filter((line) => line !== "");
}

describe("a project and its stack files, read with the code of the Pulumi CLI,", () => {
  for (const [name, folder] of Object.entries({ program: root, "program of ci": path.join(root, "examples/ci") }))
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
