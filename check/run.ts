import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../components/gates/poll.ts";
import { type Check, CheckFailure, type CheckResult, CheckSkipped, type Position } from "./check.ts";

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
  return { outcome: "failed", reason: message, ...(lookAt === undefined ? {} : { lookAt }) };
}

async function overdue(signal: AbortSignal, limitMs: number, { interrupted }: RunOptions): Promise<Outcome> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  // A check that waits by its signal gives a better reason.
  await sleep(graceMs, undefined, { ref: false });
  return {
    outcome: "failed",
    reason: interrupted?.aborted === true ? "interrupted" : `not finished after ${limitMs / 1000} s`,
  };
}
