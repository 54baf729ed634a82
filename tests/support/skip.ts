import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import path from "node:path";
import type { Context } from "mocha";
import { createProgress, isStrict, obtainOrReason, type Progress } from "../../rehearsal/testkit/programs.ts";

/** Milliseconds for the first build of programs on a small, busy machine. */
const buildLimitMs = 30 * 60_000;

/**
 * Skips a test, or a suite, and prints why.
 *
 * @param test `this` of the test or of the suite's `before` hook.
 */
function skip(test: Context, reason: string): never {
  console.log(`      skipped: ${reason}`);
  return test.skip();
}

/**
 * Skips a test or suite where something is missing; with STRICT=1 that is a failure.
 *
 * @param problem What is missing; nothing is skipped without one.
 */
export function skipIf(test: Context, problem: string | undefined, strict = isStrict()): void {
  if (problem === undefined) return;
  if (strict) throw new Error(problem);
  skip(test, problem);
}

/**
 * Programs from the cache, downloaded or built: `(progress) => obtainPrograms({ progress })`. Without them and without
 * Go, the test or suite is skipped with the reason, as by {@link skipIf}.
 */
export async function obtainOrSkip<T>(test: Context, obtain: (progress: Progress) => Promise<T>): Promise<T> {
  test.timeout(buildLimitMs);
  const found = await obtainOrReason(() => obtain(createProgress()));
  if ("reason" in found) {
    skipIf(test, found.reason);
    return skip(test, found.reason);
  }
  return found.programs;
}

/**
 * Runs a package of a Go module in `tools`, built the first time. Without Go the test is skipped, as by {@link skipIf}.
 *
 * @param folder of the module, in the repository
 */
export function goRun(
  test: Context,
  folder: string,
  goPackage: string,
  args: readonly string[],
  input = "",
): SpawnSyncReturns<string> {
  test.timeout(buildLimitMs);
  const root = path.join(import.meta.dirname, "../../");
  const run = spawnSync("go", ["run", "-C", folder, goPackage, ...args], { cwd: root, encoding: "utf8", input });
  skipIf(test, run.error === undefined ? undefined : `Go is not on PATH: ${run.error.message}`);
  return run;
}
