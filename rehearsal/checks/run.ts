import { type Check, CheckSkipped, type Notes } from "./check.ts";

/** What came of a check. */
export interface CheckReport {
  readonly id: string;
  readonly title: string;
  /** `undefined` when it passed. */
  readonly failure: string | undefined;
  /** Why it was not run; `undefined` when it was. */
  readonly skipped: string | undefined;
  readonly notes: readonly string[];
  readonly seconds: number;
}

/** Longest that one check may take, in milliseconds. */
const limitMs = 120_000;

/** Runs the checks one after the other; each result is told as soon as it is there. */
export async function runChecks<Context extends Notes>(
  checks: readonly Check<Context>[],
  context: (notes: Notes) => Context,
  tell: (report: CheckReport) => void,
): Promise<readonly CheckReport[]> {
  const reports: CheckReport[] = [];
  for (const check of checks) {
    const started = performance.now();
    const notes: string[] = [];
    const outcome = await withLimit(check.run(context({ note: (text) => notes.push(text) })));
    const report = { id: check.id, title: check.title, ...outcome, notes, seconds: seconds(started) };
    tell(report);
    reports.push(report);
  }
  return reports;
}

/** A result as the lines that are shown. */
export function reportLines({ id, title, failure, skipped, notes }: CheckReport): string {
  const word = failure !== undefined ? "FAIL" : skipped !== undefined ? "skip" : "pass";
  const below = [failure, skipped, ...notes].filter((line) => line !== undefined);
  return [`${word}  [${id}] ${title}`, ...below.map((line) => `      ${line}`)].join("\n");
}

type Outcome = Pick<CheckReport, "failure" | "skipped">;

async function withLimit(running: Promise<void>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Outcome>((resolve) => {
    timer = setTimeout(
      () => resolve({ failure: `not finished after ${limitMs / 1000} s`, skipped: undefined }),
      limitMs,
    );
  });
  const outcome = running.then((): Outcome => ({ failure: undefined, skipped: undefined }), outcomeOf);
  return await Promise.race([outcome, limit]).finally(() => clearTimeout(timer));
}

function outcomeOf(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof CheckSkipped && process.env.CI !== "true"
    ? { failure: undefined, skipped: message }
    : { failure: message, skipped: undefined };
}

function seconds(started: number): number {
  return (performance.now() - started) / 1000;
}
