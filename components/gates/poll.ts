import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "./messageOf.ts";

/** Time, as a poll sees it; a test gives its own. */
export interface Clock {
  /** Milliseconds since any fixed point. */
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

interface PollOptions {
  /** Pause between two attempts, in milliseconds. */
  readonly intervalMs: number;
  /**
   * Longest wait in milliseconds, counted from the start or from the last progress. Default: as long as the signal
   * allows.
   */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  /** Errors after which further attempts are pointless; they are thrown as they are. Default: none. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** No attempt succeeded in time. Its message is the reason of the last one. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
}

/** A pause that is longer by this was not the poll's own, in milliseconds. */
const asleepMs = 2_000;

/** The system's own time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};

/**
 * Repeats an attempt until it returns. One that throws is repeated, and its message is the reason when the time is up.
 *
 * @param attempt calls what it is given when it sees progress: the limit is then counted from there
 * @throws GaveUp with the last reason after the limit, or when the signal ends the waiting
 */
export async function poll<T>(attempt: (progress: () => void) => Promise<T>, options: PollOptions): Promise<T> {
  const { intervalMs, limitMs = Number.POSITIVE_INFINITY, signal, isFinal, clock = systemClock } = options;
  let since = clock.now();
  const progress = (): void => {
    since = clock.now();
  };
  let reason = "the time was up before the first answer";
  while (signal?.aborted !== true) {
    try {
      return await attempt(progress);
    } catch (error) {
      if (isFinal?.(error) === true) throw error;
      reason = messageOf(error);
    }
    const before = clock.now();
    if (before >= since + limitMs) break;
    await clock.sleep(intervalMs, signal);
    // A laptop slept: what was seen before says nothing.
    if (clock.now() - before > 2 * intervalMs + asleepMs) progress();
  }
  throw new GaveUp(reason);
}
