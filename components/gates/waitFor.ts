import * as pulumi from "@pulumi/pulumi";
import { type Clock, GaveUp, poll } from "./poll.ts";

/** How long to wait and how often to look. */
export interface Patience {
  /** Seconds between two looks. Default 2. */
  readonly everySeconds?: number;
  /**
   * Seconds until giving up, counted from the start or from the last sign of progress. Default 1800: a machine that was
   * just replaced downloads, boots and catches up.
   */
  readonly limitSeconds?: number;
}

/**
 * Looks until the probe finds nothing wrong.
 *
 * @param what what is awaited, for the error: `the API of aws-dev`.
 * @param probe says what is still wrong, or `undefined` when all is well. A throw counts as wrong with its message. It
 * calls what it is given when it sees progress: the limit is then counted from there.
 * @throws Error with the last thing that was wrong, after the limit.
 */
export async function waitFor(
  what: string,
  probe: (progress: () => void) => Promise<string | undefined>,
  { everySeconds = 2, limitSeconds = 1800 }: Patience = {},
  clock?: Clock,
): Promise<void> {
  await poll(
    async (progress) => {
      const wrong = await probe(progress);
      if (wrong !== undefined) throw new Error(wrong);
    },
    { intervalMs: everySeconds * 1000, limitMs: limitSeconds * 1000, ...(clock === undefined ? {} : { clock }) },
  ).catch((error: unknown) => {
    const reason = error instanceof GaveUp ? error.message : String(error);
    throw new Error(`${what} is not ready after ${limitSeconds} seconds; last answer: ${reason}`);
  });
}

/**
 * The value of an input inside a hook: hooks run only in updates, when the dependencies of the resource exist, so every
 * value is known.
 */
export function resolvedValue<T>(input: pulumi.Input<T>): Promise<pulumi.Unwrap<T>> {
  return new Promise((resolve) => {
    pulumi.output(input).apply(resolve);
  });
}
