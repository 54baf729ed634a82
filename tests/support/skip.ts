import type { Context } from "mocha";

/**
 * Skips a test, or a suite, and prints why.
 *
 * @param test `this` of the test or of the suite's `before` hook.
 */
export function skip(test: Context, reason: string): never {
  console.log(`      skipped: ${reason}`);
  return test.skip();
}

/**
 * Skips a test, or a suite, where something is missing; in CI that is a failure.
 *
 * @param problem What is missing, in words; nothing is skipped without one.
 */
export function skipIf(test: Context, problem: string | undefined): void {
  if (problem === undefined) return;
  if (process.env.CI === "true") throw new Error(problem);
  skip(test, problem);
}
