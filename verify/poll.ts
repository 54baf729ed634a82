import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "./api.ts";
import { CheckFailure } from "./failure.ts";

/** Settings of {@link until}. */
export interface PollOptions {
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Pause between two attempts, in milliseconds. Default: 500. */
  readonly intervalMs?: number;
  /** What to look at when it never comes. */
  readonly lookAt?: string;
}

/** Why an attempt is not the last one yet. */
export class NotYet extends Error {
  override readonly name = "NotYet";
}

/**
 * Repeats an attempt until it gives a value. One that throws is repeated, and its message is the reason when the time is up;
 * a {@link CheckFailure} is final at once.
 * @param what what is waited for, completing "waited in vain for ..."
 * @throws CheckFailure with the last reason when the signal ends the waiting
 */
export async function until<T>(what: string, attempt: () => Promise<T>, options: PollOptions): Promise<T> {
  let reason = "the time was up before the first answer";
  while (!options.signal.aborted) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof CheckFailure) throw error;
      reason = error instanceof NotYet ? error.message : messageOf(error);
    }
    await sleep(options.intervalMs ?? 500, undefined, { signal: options.signal }).catch(() => undefined);
  }
  throw new CheckFailure(`waited in vain for ${what}: ${reason}`, options.lookAt);
}
