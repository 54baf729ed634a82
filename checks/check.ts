/** What the engine adds to the context of every check. */
export interface CheckRun {
  /** Ends with the check's time limit, or when the user interrupts. */
  readonly signal: AbortSignal;
  /** Prints a line under the check's result. */
  readonly note: (text: string) => void;
}

/** One check. What it may look at is `Context`, which the caller of the run provides. */
export interface Check<Context = object> {
  /** Stable name, by which it is chosen and referred to: `pod-to-pod/linux->windows-2022`. */
  readonly id: string;
  /** What holds when it passes, as a sentence. */
  readonly title: string;
  /** Why there is no answer here; known before anything runs. Default: it runs. */
  readonly skip?: string;
  /**
   * Ids of checks that must not have failed: without what they show this one would only fail as well. It is then
   * skipped, and the report names the cause. Ids that are not part of the run do not count. Default: none.
   */
  readonly needs?: readonly string[];
  /** Waits on purpose for what takes its time, such as the end of a token's life. Default: not slow. */
  readonly slow?: boolean;
  /** Longest that it may take, in milliseconds. Default: the limit of the run. */
  readonly limitMs?: number;
  /**
   * Throws {@link CheckFailure} or any other error when it does not hold, {@link CheckSkipped} when there turns out to
   * be no answer.
   */
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

/** A check's place in its run. */
export interface Position {
  /** Counted from 1. */
  readonly number: number;
  readonly of: number;
}

/** What a check found wrong, and where to look next. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  /** Command or place that says more. */
  readonly lookAt: string | undefined;

  constructor(message: string, lookAt?: string) {
    super(message);
    this.lookAt = lookAt;
  }
}

/**
 * A check found while it ran that there is no answer here: the cluster has nothing for it, or the host lacks a program.
 */
export class CheckSkipped extends Error {
  override readonly name = "CheckSkipped";
}

/** @throws CheckFailure unless it holds */
export function expect(holds: boolean, failure: string, lookAt?: string): asserts holds {
  if (!holds) throw new CheckFailure(failure, lookAt);
}

/** Compares by JSON text with sorted keys. @throws CheckFailure with both values when they differ */
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

/** Checks in a fixed order, each of which needs all before it: what one leaves behind is where the next begins. */
export function inOrder<Context>(checks: readonly Check<Context>[]): readonly Check<Context>[] {
  return checks.map((check, index) => ({
    ...check,
    needs: [...(check.needs ?? []), ...checks.slice(0, index).map(({ id }) => id)],
  }));
}

/** The same checks, each of which may take that long, in milliseconds. */
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
