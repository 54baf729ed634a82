import { spawnSync } from "node:child_process";
import path from "node:path";
import type { Context } from "mocha";
import { createProgress, type Progress } from "../../rehearsal/host/command.ts";
import { isStrict, obtainOrReason } from "../../rehearsal/programs/catalog.ts";
import { obtainCheckers } from "../../rehearsal/programs/checkers.ts";

/** Milliseconds for the first build of programs on a small, busy machine. */
const buildLimitMs = 30 * 60_000;

/** Skips a test, or a suite, and prints why. */
function skip(test: Context, reason: string): never {
  console.log(`      skipped: ${reason}`);
  return test.skip();
}

/**
 * Skips a test or suite where something is missing; with STRICT=1 that is a failure.
 *
 * @param test here and below `this` of the test or of the suite's `before` hook
 * @param problem what is missing; nothing is skipped without one
 */
export function skipIf(test: Context, problem: string | undefined, strict = isStrict()) {
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
 * Runs a package of a Go module in `rehearsal/runtime`, built the first time. Without Go the test is skipped, as by {@link skipIf}.
 *
 * @param folder of the module, in the repository
 */
export function goRun(test: Context, folder: string, goPackage: string, args: readonly string[], input = "") {
  test.timeout(buildLimitMs);
  const root = path.join(import.meta.dirname, "../../");
  const run = spawnSync("go", ["run", "-C", folder, goPackage, ...args], { cwd: root, encoding: "utf8", input });
  skipIf(test, run.error === undefined ? undefined : `Go is not on PATH: ${run.error.message}`);
  return run;
}

/** The checkers, from the cache or built, as by {@link obtainOrSkip}. */
export async function checkersOrSkip(suite: Context, minors?: readonly string[]) {
  return await obtainOrSkip(suite, (progress) => obtainCheckers({ progress, ...(minors !== undefined && { minors }) }));
}

/** Of the newest CLI that can be built from its module. */
export const pulumiVersion = "3.259.0";

/** Builds Pulumi's CLI as `file`. Without Go the suite is skipped, as by {@link skipIf}. */
export function buildPulumi(suite: Context, file: string) {
  suite.timeout(3_600_000);
  const flags = `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${pulumiVersion}`;
  const folder = path.join(import.meta.dirname, "../../rehearsal/runtime/pulumi");
  const args = ["build", "-C", folder, "-ldflags", flags, "-o", file, "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"];
  const built = spawnSync("go", args, { encoding: "utf8" });
  skipIf(suite, built.status === 0 ? undefined : `Pulumi was not built: ${built.error?.message ?? built.stderr}`);
}
