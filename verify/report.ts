/** What came of a check. */
export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** Why it failed or was skipped. */
  readonly reason?: string;
  /** What to look at after a failure. */
  readonly lookAt?: string;
  readonly notes: readonly string[];
  readonly seconds: number;
}

const words = { passed: "pass", failed: "FAIL", skipped: "skip" } as const;

/** The lines of one result, the first with its time since the start. */
export function resultLines(result: CheckResult, sinceStart: number): string {
  const indent = " ".repeat(17);
  return (
    [
      `[${sinceStart.toFixed(1).padStart(6)} s] ${words[result.outcome]}  ${result.id}: ${result.title}`,
      ...(result.reason === undefined ? [] : [result.reason]),
      ...(result.lookAt === undefined ? [] : [`look at: ${result.lookAt}`]),
      ...result.notes,
    ]
      .join("\n")
      // A node writes its conditions itself: nothing of it may steer the terminal.
      .replaceAll(/[^\P{Cc}\n\t]/gu, "\u{FFFD}")
      .replaceAll("\n", `\n${indent}`)
      .concat("\n")
  );
}

/** Last line of the output. */
export function summaryLine(results: readonly Pick<CheckResult, "outcome">[]): string {
  const count = (outcome: CheckResult["outcome"]): number => results.filter((each) => each.outcome === outcome).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped\n`;
}
