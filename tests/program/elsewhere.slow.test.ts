import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { symlinkSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { suiteFolder } from "../support/temporary.ts";

const root = path.join(import.meta.dirname, "../../");
const place = { cwd: root, path: root, env: { TZ: "UTC", LC_ALL: "C" }, options: [] };

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
      const here = await registered(stack, place);
      assert.ok(Object.keys(here).length > 200);
      assert.deepEqual(await registered(stack, elsewhere), here);
    });
});
