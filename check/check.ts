import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { GaveUp, poll } from "../components/gates/poll.ts";
import { messageOf } from "../components/model/messages.ts";

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
  /** Takes long: a rehearsal runs it with --full. */
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

/** Compares as JSON, in whatever order the keys are. @throws CheckFailure with both values */
export function expectEqual(actual: unknown, wanted: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual ?? null), JSON.stringify(wanted ?? null)];
  expect(isDeepStrictEqual(JSON.parse(a), JSON.parse(b)), `${what}: found ${a}, wanted ${b}`);
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
      ...(limitMs !== undefined && { limitMs }),
      isFinal: (error) => error instanceof CheckFailure,
    });
  } catch (error) {
    throw error instanceof GaveUp
      ? new CheckFailure(`gave up waiting for ${what}: ${error.message}`, options.lookAt)
      : error;
  }
}

export interface RunOptions {
  /** Limit in milliseconds of checks without their own. */
  readonly limitMs: number;
  readonly onResult: (result: CheckResult, position: Position) => void;
  /** Called when a check begins, but not for a skipped one. */
  readonly onBegin?: (id: string, position: Position) => void;
  /** Every `heartbeatMs` of a running check, with the seconds since it began. */
  readonly onWaiting?: (id: string, position: Position, seconds: number) => void;
  /** Default: 15,000. */
  readonly heartbeatMs?: number;
  /** The running check is given up, no other begun. */
  readonly interrupted?: AbortSignal;
  /** A check without an answer fails. Default: it is skipped. */
  readonly skipsFail?: boolean;
  /** Results of an earlier run, which these checks may need. */
  readonly earlier?: readonly CheckResult[];
  /** How many run at the same time. One that needs another begins after it. Default: 1. */
  readonly atOnce?: number;
}

/** How long a check that ignores its signal may go on after its time limit. */
const graceMs = 2_000;

type Outcome = Pick<CheckResult, "outcome" | "reason" | "lookAt">;

/**
 * Runs the checks in turn, or several at once. Those that need a failed one are skipped with its id.
 * @returns the results in the order of the checks
 */
export async function runChecks<Context extends object>(
  checks: readonly Check<Context>[],
  context: Context,
  options: RunOptions,
): Promise<readonly CheckResult[]> {
  const causes = new Map<string, string>();
  for (const { id, outcome } of options.earlier ?? []) if (outcome === "failed") causes.set(id, id);
  const begun = new Map<string, Promise<CheckResult>>();
  const judge = async (check: Check<Context>, position: Position): Promise<CheckResult> => {
    await Promise.all((check.needs ?? []).map((id) => begun.get(id)));
    const cause = check.needs?.map((id) => causes.get(id)).find((id) => id !== undefined);
    const reason =
      options.interrupted?.aborted === true
        ? "interrupted before it began"
        : (check.skip ?? (cause === undefined ? undefined : `follows from ${cause}`));
    const { id, title } = check;
    const result: CheckResult =
      reason === undefined
        ? await runOne(check, context, options, position)
        : { id, title, outcome: "skipped", reason, notes: [], seconds: 0 };
    if (result.outcome === "failed") causes.set(id, id);
    else if (cause !== undefined) causes.set(id, cause);
    options.onResult(result, position);
    return result;
  };
  const waiting = checks.entries();
  const lane = async (): Promise<void> => {
    for (const [index, check] of waiting) {
      const judged = judge(check, { number: index + 1, of: checks.length });
      begun.set(check.id, judged);
      await judged;
    }
  };
  await Promise.all(Array.from({ length: options.atOnce ?? 1 }, lane));
  return await Promise.all(checks.flatMap(({ id }) => begun.get(id) ?? []));
}

async function runOne<Context extends object>(
  check: Check<Context>,
  context: Context,
  options: RunOptions,
  position: Position,
): Promise<CheckResult> {
  const { id, title, limitMs = options.limitMs } = check;
  options.onBegin?.(id, position);
  const started = performance.now();
  const seconds = (): number => (performance.now() - started) / 1000;
  const notes: string[] = [];
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), limitMs);
  const beat = setInterval(() => options.onWaiting?.(id, position, seconds()), options.heartbeatMs ?? 15_000);
  const signal = AbortSignal.any([limit.signal, ...(options.interrupted === undefined ? [] : [options.interrupted])]);
  const outcome = await Promise.race([
    check.run({ ...context, signal, note: (text: string) => notes.push(text) }).then(
      (): Outcome => ({ outcome: "passed" }),
      (error: unknown) => problem(error, options),
    ),
    overdue(signal, limitMs, options),
  ]).finally(() => {
    clearTimeout(timer);
    clearInterval(beat);
    // Wakes what still waits on behalf of this check.
    limit.abort();
  });
  return { id, title, ...outcome, notes, seconds: seconds() };
}

function problem(error: unknown, { interrupted, skipsFail = false }: RunOptions): Outcome {
  if (interrupted?.aborted === true) return { outcome: "failed", reason: "interrupted" };
  if (error instanceof CheckSkipped) return { outcome: skipsFail ? "failed" : "skipped", reason: error.message };
  if (!(error instanceof CheckFailure)) return { outcome: "failed", reason: messageOf(error) };
  const { message, lookAt } = error;
  return { outcome: "failed", reason: message, ...(lookAt !== undefined && { lookAt }) };
}

async function overdue(signal: AbortSignal, limitMs: number, { interrupted }: RunOptions): Promise<Outcome> {
  if (!signal.aborted) await once(signal, "abort");
  // A check that waits by its signal gives a better reason.
  await sleep(graceMs, undefined, { ref: false });
  return {
    outcome: "failed",
    reason: interrupted?.aborted === true ? "interrupted" : `not finished after ${limitMs / 1000} s`,
  };
}
