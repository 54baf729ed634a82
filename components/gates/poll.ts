import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../model/messages.ts";

/** Time, as a poll sees it; a test gives its own. */
export interface Clock {
  /** Milliseconds since any fixed point. */
  now(): number;
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/**
 * Says, or throws, what is still wrong; `undefined` when all is well. It calls what it is given when it sees progress:
 * the limit of a wait counts from there.
 */
export type Probe = (progress: () => void) => Promise<string | undefined>;

interface PollOptions {
  /** Pause between two attempts, in milliseconds. */
  readonly intervalMs: number;
  /** Limit in milliseconds, counted from the start or the last progress. Default: none but the signal. */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  /** Errors that are thrown at once, since further attempts are pointless. Default: none. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** No attempt succeeded in time. The message is the last one's reason. */
export class GaveUp extends Error {
  override readonly name = "GaveUp";
}

/** A pause longer than planned by this was not the poll's own, in milliseconds. */
const asleepMs = 2_000;

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: async (milliseconds, signal) => {
    await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};

/**
 * Repeats an attempt that throws until it returns.
 *
 * @param attempt calls what it is given when it sees progress: the limit counts from there
 * @throws GaveUp with the last reason after the limit, or when the signal ends the waiting
 */
export async function poll<T>(attempt: (progress: () => void) => Promise<T>, options: PollOptions): Promise<T> {
  const { intervalMs, limitMs = Number.POSITIVE_INFINITY, signal, isFinal, clock = systemClock } = options;
  let since = clock.now();
  const progress = () => {
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
    // A laptop slept.
    if (clock.now() - before > 2 * intervalMs + asleepMs) progress();
  }
  throw new GaveUp(reason);
}
