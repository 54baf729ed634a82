import { GaveUp, poll } from "../components/gates/poll.ts";

export interface CheckRun {
  /** Ends with the time limit, or when the user interrupts. */
  readonly signal: AbortSignal;
  readonly note: (text: string) => void;
}

export interface Check<Context = object> {
  /** Stable name: `pod-to-pod/linux->windows-2022`. */
  readonly id: string;
  /** What holds when it passes. */
  readonly title: string;
  /** Why it is skipped, where that is known before the run. */
  readonly skip?: string;
  /**
   * Ids of checks: when one of these has failed this one is skipped, and the report names the cause. Ids outside the
   * run do not count.
   */
  readonly needs?: readonly string[];
  /** Waits on purpose, as for the end of a token's life. */
  readonly slow?: boolean;
  /** Time limit in milliseconds. Default: the limit of the run. */
  readonly limitMs?: number;
  /** Throws {@link CheckFailure} or another error, or {@link CheckSkipped} when there is no answer. */
  readonly run: (context: Context & CheckRun) => Promise<void>;
}

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly reason?: string;
  readonly lookAt?: string;
  readonly notes: readonly string[];
  readonly seconds: number;
}

export interface Position {
  /** Counted from 1. */
  readonly number: number;
  readonly of: number;
}

/** What is wrong, and where to look next. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  /** Command or place that says more. */
  readonly lookAt: string | undefined;

  constructor(message: string, lookAt?: string) {
    super(message);
    this.lookAt = lookAt;
  }
}

/** There is no answer: the cluster has nothing for it, or the host lacks a program. */
export class CheckSkipped extends Error {
  override readonly name = "CheckSkipped";
}

/** @throws CheckFailure */
export function expect(holds: boolean, failure: string, lookAt?: string): asserts holds {
  if (!holds) throw new CheckFailure(failure, lookAt);
}

/** Compares by JSON text with sorted keys. @throws CheckFailure with both values */
export function expectEqual(actual: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(wanted))];
  expect(a === b, `${what}: found ${a}, wanted ${b}`);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}

/** Each needs all before it and begins where they end. */
export function inOrder<Context>(checks: readonly Check<Context>[]): readonly Check<Context>[] {
  return checks.map((check, index) => ({
    ...check,
    needs: [...(check.needs ?? []), ...checks.slice(0, index).map(({ id }) => id)],
  }));
}

/** The same checks with this limit, in milliseconds. */
export function within<Context>(limitMs: number, checks: readonly Check<Context>[]): readonly Check<Context>[] {
  return checks.map((check) => ({ ...check, limitMs }));
}

/** The same checks, each of which needs these as well. */
export function needing<Context>(
  needs: readonly string[],
  checks: readonly Check<Context>[],
): readonly Check<Context>[] {
  return checks.map((check) => ({ ...check, needs: [...(check.needs ?? []), ...needs] }));
}

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
