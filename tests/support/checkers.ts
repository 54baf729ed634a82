import type { Context } from "mocha";
import { type Checkers, obtainCheckers } from "../../rehearsal/testkit/programs.ts";
import { obtainOrSkip } from "./skip.ts";

/**
 * The checkers, built when no earlier run has left them in the cache. Without Go the suite is skipped with the reason;
 * with STRICT=1 that is a failure.
 *
 * @param suite `this` of a `before` hook.
 */
export async function checkersOrSkip(suite: Context, minors?: readonly string[]): Promise<Checkers> {
  return await obtainOrSkip(suite, (progress) =>
    obtainCheckers({ progress, ...(minors === undefined ? {} : { minors }) }),
  );
}
