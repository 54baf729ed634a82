import type { Context } from "mocha";
import { type Checkers, obtainCheckers } from "../../rehearsal/testkit/programs.ts";
import { obtainOrSkip } from "./skip.ts";

/**
 * The checkers, from the cache or built. Without Go the suite is skipped with the reason, or with STRICT=1 fails.
 *
 * @param suite `this` of a `before` hook.
 */
export async function checkersOrSkip(suite: Context, minors?: readonly string[]): Promise<Checkers> {
  return await obtainOrSkip(suite, (progress) =>
    obtainCheckers({ progress, ...(minors === undefined ? {} : { minors }) }),
  );
}
