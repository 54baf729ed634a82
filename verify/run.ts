import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "./api.ts";
import type { VerifyCheck, VerifyContext } from "./check.ts";
import { CheckFailure, CheckSkipped } from "./failure.ts";
import type { CheckResult } from "./report.ts";

/** Settings of a run. */
export interface RunOptions {
  /** Longest that one check may take, in milliseconds. */
  readonly limitMs: number;
  /** Ends the run: the check that runs is given up, the rest is not begun. */
  readonly interrupted: AbortSignal;
  /** Called when a check begins that will run. */
  readonly begin: (check: VerifyCheck) => void;
  /** Called with each result as soon as it is there. */
  readonly tell: (result: CheckResult) => void;
}

/** What a check that does not heed its signal is given after its time limit, in milliseconds. */
const graceMs = 2_000;

/** Runs the checks one after the other. Those that were not reached before an interruption are skipped with that reason. */
export async function runChecks(
  checks: readonly VerifyCheck[],
  context: Omit<VerifyContext, "note" | "signal">,
  options: RunOptions,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const result = options.interrupted.aborted
      ? skipped(check, "interrupted before it began")
      : check.skip !== undefined
        ? skipped(check, check.skip)
        : await runOne(check, context, options);
    options.tell(result);
    results.push(result);
  }
  return results;
}

function skipped({ id, title }: VerifyCheck, reason: string): CheckResult {
  return { id, title, outcome: "skipped", reason, notes: [], seconds: 0 };
}

async function runOne(
  check: VerifyCheck,
  context: Omit<VerifyContext, "note" | "signal">,
  options: RunOptions,
): Promise<CheckResult> {
  options.begin(check);
  const started = performance.now();
  const notes: string[] = [];
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), options.limitMs);
  const signal = AbortSignal.any([limit.signal, options.interrupted]);
  const outcome = await Promise.race([
    check.run({ ...context, signal, note: (text) => notes.push(text) }).then(
      () => ({ outcome: "passed" as const }),
      (error: unknown) => problem(error, options.interrupted),
    ),
    overdue(signal, options.limitMs, options.interrupted),
  ]).finally(() => {
    clearTimeout(timer);
    // Wakes what still waits on behalf of this check.
    limit.abort();
  });
  return { id: check.id, title: check.title, ...outcome, notes, seconds: (performance.now() - started) / 1000 };
}

function problem(error: unknown, interrupted: AbortSignal): Pick<CheckResult, "outcome" | "reason" | "lookAt"> {
  if (interrupted.aborted) return { outcome: "failed", reason: "interrupted" };
  if (error instanceof CheckSkipped) return { outcome: "skipped", reason: error.message };
  const lookAt = error instanceof CheckFailure ? error.lookAt : undefined;
  return {
    outcome: "failed",
    reason: error instanceof CheckFailure ? error.message : messageOf(error),
    ...(lookAt === undefined ? {} : { lookAt }),
  };
}

async function overdue(
  signal: AbortSignal,
  limitMs: number,
  interrupted: AbortSignal,
): Promise<Pick<CheckResult, "outcome" | "reason">> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  // A check that waits by its signal tells a better reason than this one.
  await sleep(graceMs, undefined, { ref: false });
  return {
    outcome: "failed",
    reason: interrupted.aborted ? "interrupted" : `not finished after ${limitMs / 1000} s`,
  };
}
