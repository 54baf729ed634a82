import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Context } from "mocha";

/** Longest that the first build of a Go program may take on a small, busy machine, milliseconds. */
const buildLimitMs = 20 * 60_000;

/**
 * Skips a suite whose programs are Go's where Go is missing; in CI that is a failure.
 *
 * @param suite `this` of a `before` hook.
 */
export function needGo(suite: Context): void {
  if (spawnSync("go", ["version"]).status === 0) return;
  if (process.env.CI === "true") throw new Error("Go is missing, and CI needs it");
  console.log("      skipped: Go is not on PATH");
  suite.skip();
}

/**
 * Runs a package of one of the Go modules in `tools`; the first time it is built.
 *
 * @param test `this` of the test, whose time limit is raised.
 * @param tool Folder in `tools`.
 * @param input Standard input.
 */
export function goRun(
  test: Context,
  tool: string,
  goPackage: string,
  args: readonly string[],
  input = "",
): SpawnSyncReturns<string> {
  test.timeout(buildLimitMs);
  const folder = fileURLToPath(new URL(`../../tools/${tool}`, import.meta.url));
  return spawnSync("go", ["run", "-C", folder, goPackage, ...args], { encoding: "utf8", input });
}
