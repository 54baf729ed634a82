import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Context } from "mocha";
import { messageOf } from "../../components/gates/poll.ts";
import {
  createProgress,
  defaultCache,
  findOnPath,
  withLock,
  withWorkFolder,
} from "../../rehearsal/testkit/programs.ts";
import { skipIf } from "../support/skip.ts";

const run = promisify(execFile);
const requirements = path.join(import.meta.dirname, "requirements.txt");

/**
 * Folder of the Python packages of requirements.txt, for PYTHONPATH: installed once, into the cache. Without Python and
 * pip the test is skipped, with STRICT=1 it fails.
 */
export async function pythonPackages(test: Context): Promise<string> {
  test.timeout(10 * 60_000);
  const python = await findOnPath("python3", process.env.PATH ?? "");
  skipIf(test, python === undefined ? "python3 is not on PATH" : undefined);
  const { stdout } = await run("python3", ["--version"]);
  const hash = createHash("sha256").update(stdout).update(readFileSync(requirements));
  const cache = path.join(defaultCache(), "../python");
  const folder = path.join(cache, hash.digest("hex").slice(0, 12));
  await mkdir(cache, { recursive: true });
  const problem = await withLock(path.join(cache, "lock"), createProgress(), async () => {
    if (existsSync(folder)) return undefined;
    await withWorkFolder(cache, async (work) => {
      const args = ["--quiet", "--no-deps", "--only-binary", ":all:", "--no-compile", "--target", work];
      await run("python3", ["-m", "pip", "install", ...args, "--requirement", requirements]);
      await rename(work, folder);
    });
    return undefined;
  }).catch((error: unknown) => {
    if (/No module named pip/.test(messageOf(error))) return "python3 has no pip";
    throw error;
  });
  skipIf(test, problem);
  return folder;
}
