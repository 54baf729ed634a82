import { type Check, type CheckResult, type Position, runChecks } from "../../check/check.ts";
import { type Paint, plain, positionText, recapLines, resultLines, summaryLine } from "../../check/report.ts";
import { limitsMs, type Progress, RehearsalError } from "../host/command.ts";
import { isStrict } from "../programs/catalog.ts";

interface PartOptions {
  /** What is checked, in the line that the passed checks of this part fold to. Default: each has a line. */
  readonly fold?: string;
  /** How many run at the same time. Default: 1. */
  readonly atOnce?: number;
  /** Whether a result is reported and counted. Default: each is. */
  readonly isShown?: (result: CheckResult) => boolean;
}

export interface Selection {
  /** What their ids begin with; empty for all. */
  readonly only: string;
  /** What the ids of those left out begin with. */
  readonly skip: readonly string[];
  /** The slow ones too. */
  readonly full: boolean;
}

export function isAsked({ id }: { readonly id: string }, { only, skip }: Selection): boolean {
  return id.startsWith(only) && !skip.some((beginning) => id.startsWith(beginning));
}

/** The checks that are asked for; those that only `--full` runs are skipped, and so counted. */
export function selected<Context>(checks: readonly Check<Context>[], selection: Selection): readonly Check<Context>[] {
  return checks
    .filter((check) => isAsked(check, selection))
    .map((check) =>
      check.slow === true && !selection.full ? { ...check, skip: "it is slow: --full runs it" } : check,
    );
}

/**
 * How many a selection chooses: something, before machines boot for nothing.
 * @throws RehearsalError when no id begins so, or without `--full` only those of slow checks
 */
export function requireChosen(selection: Selection, checks: readonly Pick<Check, "id" | "slow">[]): number {
  const { only, full } = selection;
  const chosen = checks.filter((check) => isAsked(check, selection));
  if (chosen.length === 0)
    throw new RehearsalError(
      `--only ${only}: no check of this stack has an id that begins so; allowed: ${kindsOf(checks)}`,
    );
  if (!full && chosen.every(({ slow }) => slow === true))
    throw new RehearsalError(`--only ${only}: chooses slow checks alone (${kindsOf(chosen)}); add --full`);
  return chosen.length;
}

/** Runs a rehearsal's checks in parts, as the cluster comes up, and numbers them as one list. */
export class CheckSession {
  readonly #results: CheckResult[] = [];
  readonly #progress: Progress;
  readonly #paint: Paint;
  readonly #of: number;
  readonly #verbose: boolean;

  /**
   * @param of number of checks in all parts together
   * @param verbose whether each check has a line, with its notes
   */
  constructor(progress: Progress, paint: Paint, of: number, verbose: boolean) {
    this.#progress = progress;
    this.#paint = paint;
    this.#of = of;
    this.#verbose = verbose;
  }

  get results(): readonly CheckResult[] {
    return this.#results;
  }

  /** Whether none of these has failed or was skipped. */
  allPassed(ids: readonly string[]): boolean {
    return this.#results.every(({ id, outcome }) => outcome === "passed" || !ids.includes(id));
  }

  get #position(): Position {
    const number = this.#results.length + 1;
    return { number, of: Math.max(number, this.#of) };
  }

  /** Runs checks, which may need those of earlier parts. */
  async run<Context extends object>(
    checks: readonly Check<Context>[],
    context: Context,
    { isShown = () => true, fold, atOnce = 1 }: PartOptions = {},
  ): Promise<readonly CheckResult[]> {
    const folds = fold !== undefined && !this.#verbose;
    const results = await runChecks(checks, context, {
      limitMs: limitsMs.check,
      atOnce,
      earlier: this.#results,
      // Where everything can be installed, a skipped check would be missed.
      skipsFail: isStrict(),
      onWaiting: (id, _, seconds) =>
        this.#progress.line(`...   ${positionText(this.#position)}  [${id}] for ${Math.round(seconds)} s`),
      onResult: (result) => {
        if (!isShown(result)) return;
        const isTold = result.outcome === "failed" || (!folds && (this.#verbose || result.outcome === "passed"));
        if (isTold) this.#progress.line(resultLines(result, this.#position, this.#paint));
        this.#results.push(result);
      },
    });
    const passed = results.filter(({ outcome }) => outcome === "passed").length;
    if (folds && passed > 0) this.#progress.line(`${this.#paint("green", "pass")}  ${fold}: ${passed} passed`);
    return results;
  }
}

/** Last lines of a rehearsal, and whether it passed: checks that are all skipped are no success. */
export function summary(
  results: readonly CheckResult[],
  paint: Paint = plain,
): { readonly lines: readonly string[]; readonly passed: boolean } {
  const failed = results.some(({ outcome }) => outcome === "failed");
  const passed = results.some(({ outcome }) => outcome === "passed");
  const skipped = Map.groupBy(
    results.filter(({ outcome }) => outcome === "skipped"),
    ({ reason = "" }) => reason,
  );
  return {
    lines: [
      ...[...skipped].map(([reason, of]) => `skipped, ${reason}: ${kindsOf(of)}`),
      ...(failed || passed ? [] : ["no check has passed: each one was skipped"]),
      ...recapLines(results, paint),
      summaryLine(results).replace(", 0 skipped", ""),
    ],
    passed: passed && !failed,
  };
}

/** Ids, of several with the same part before the slash only that. */
function kindsOf(results: readonly Pick<Check, "id">[]): string {
  const kinds = Map.groupBy(results, ({ id }) => id.split("/")[0] ?? "");
  return [...kinds].map(([kind, of]) => (of.length === 1 ? of[0]?.id : kind)).join(", ");
}
