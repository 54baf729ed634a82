import type { CheckResult } from "../checks/check.ts";
import { type Paint, plain, recapLines, summaryLine } from "../checks/report.ts";

/** Last lines of a rehearsal and whether it passed. Checks that were asked for and are not there are no success. */
export function summary(
  results: readonly CheckResult[],
  only: string,
  paint: Paint = plain,
): { readonly lines: readonly string[]; readonly passed: boolean } {
  const failed = results.some(({ outcome }) => outcome === "failed");
  const none = results.length === 0;
  return {
    lines: [
      ...(none
        ? [`no check was run; --only ${only}: allowed is the beginning of a check's id, slow ones with --full`]
        : []),
      ...recapLines(results, paint),
      summaryLine(results).replace(", 0 skipped", ""),
    ],
    passed: !failed && !none,
  };
}
