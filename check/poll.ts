import { GaveUp, poll } from "../components/gates/poll.ts";
import { CheckFailure } from "./check.ts";

interface UntilOptions {
  /** Ends the waiting; pass a check's own. */
  readonly signal: AbortSignal;
  /** Longest wait in milliseconds. Default: as long as the signal allows. */
  readonly limitMs?: number;
  /** Pause between attempts in milliseconds. Default: 500. */
  readonly intervalMs?: number;
  /** What to look at when it never comes. */
  readonly lookAt?: string;
}

export class NotYet extends Error {
  override readonly name = "NotYet";
}

/**
 * Repeats an attempt, also one that throws, until it gives a value; a {@link CheckFailure} is final.
 *
 * @param what completes "gave up waiting for ..." @throws CheckFailure with the last attempt's message
 */
export async function until<T>(what: string, options: UntilOptions, attempt: () => Promise<T>): Promise<T> {
  const { signal, limitMs, intervalMs = 500 } = options;
  try {
    return await poll(attempt, {
      signal,
      intervalMs,
      ...(limitMs === undefined ? {} : { limitMs }),
      isFinal: (error) => error instanceof CheckFailure,
    });
  } catch (error) {
    throw error instanceof GaveUp
      ? new CheckFailure(`gave up waiting for ${what}: ${error.message}`, options.lookAt)
      : error;
  }
}
