import type { CheckResult } from "../../checks/check.ts";
import { type Paint, plain, recapLines, summaryLine } from "../../checks/report.ts";

/** Last lines of a rehearsal and whether it passed. Checks that were asked for and are not there, or are all skipped, are no success. */
export function summary(
  results: readonly CheckResult[],
  only: string,
  paint: Paint = plain,
): { readonly lines: readonly string[]; readonly passed: boolean } {
  const failed = results.some(({ outcome }) => outcome === "failed");
  const none = results.length === 0;
  const passed = results.some(({ outcome }) => outcome === "passed");
  return {
    lines: [
      ...(none ? [`no check was run; --only ${only}: allowed is the beginning of a check's id, slow ones with --full`] : []),
      ...(none || failed || passed ? [] : ["no check has passed: each one was skipped"]),
      ...recapLines(results, paint),
      summaryLine(results).replace(", 0 skipped", ""),
    ],
    passed: passed && !failed,
  };
}
