import type { Context } from "mocha";
import { RehearsalError } from "../../rehearsal/host/errors.ts";
import { type Checkers, obtainCheckers } from "../../rehearsal/programs/checkers/obtain.ts";

/** Longest that building every checker may take on a small, busy machine, milliseconds. */
const buildLimitMs = 60 * 60_000;

/**
 * The checkers, built when no earlier run has left them in the cache. Without Go the suite is skipped with the reason; in CI that is a failure.
 *
 * @param suite `this` of a `before` hook.
 */
export async function checkersOrSkip(suite: Context, minors?: readonly string[]): Promise<Checkers> {
  suite.timeout(buildLimitMs);
  try {
    const line = (text: string) => console.log(`      ${text}`);
    return await obtainCheckers({ progress: { startedAt: 0, line }, ...(minors === undefined ? {} : { minors }) });
  } catch (error) {
    if (!(error instanceof RehearsalError) || !/Go, which builds/.test(error.message) || process.env.CI === "true")
      throw error;
    console.log(`      skipped: ${error.message}`);
    return suite.skip();
  }
}
