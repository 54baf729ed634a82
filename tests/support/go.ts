import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Context } from "mocha";
import type { Progress } from "../../rehearsal/host/progress.ts";
import { GoMissing } from "../../rehearsal/programs/ownPrograms.ts";
import { skipIf } from "./skip.ts";

/** Longest that the first build of a Go program may take on a small, busy machine, milliseconds. */
const buildLimitMs = 20 * 60_000;

/**
 * Skips a suite whose programs are Go's where Go is missing; in CI that is a failure.
 *
 * @param suite `this` of a `before` hook.
 */
export function needGo(suite: Context): void {
  skipIf(suite, spawnSync("go", ["version"]).status === 0 ? undefined : "Go is not on PATH");
}

/**
 * What Go builds, from the cache or built now. Without either the suite is skipped with the reason; in CI that is a failure.
 *
 * @param suite `this` of a `before` hook.
 */
export async function obtainOrSkip<T>(suite: Context, obtain: (progress: Progress) => Promise<T>): Promise<T> {
  // Everything at once on a small, busy machine.
  suite.timeout(3 * buildLimitMs);
  try {
    return await obtain({ startedAt: 0, line: (text) => console.log(`      ${text}`) });
  } catch (error) {
    if (error instanceof GoMissing) skipIf(suite, error.message);
    throw error;
  }
}

/**
 * Runs a package of one of the Go modules in `tools`; the first time it is built.
 *
 * @param test `this` of the test, whose time limit is raised.
 * @param tool Folder in `tools`.
 * @param input Standard input.
 */
export function goRun(test: Context, tool: string, goPackage: string, args: readonly string[], input = ""): SpawnSyncReturns<string> {
  test.timeout(buildLimitMs);
  const folder = fileURLToPath(new URL(`../../tools/${tool}`, import.meta.url));
  return spawnSync("go", ["run", "-C", folder, goPackage, ...args], { encoding: "utf8", input });
}
