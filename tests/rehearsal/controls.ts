import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { stackDir } from "../support/stacks.ts";

const run = promisify(execFile);
const fenestra = path.join(import.meta.dirname, "../../cli/fenestra");

/** Faults that a rehearsal has on purpose, and what it must say of them. */
export interface Control {
  /** Names of `--break`. */
  readonly faults: readonly string[];
  /** Value of `--only`. */
  readonly only: string;
  /** Default aws-dev. */
  readonly stack?: string;
  readonly options?: readonly string[];
  /** All checks that fail, with what they say. */
  readonly fails: Readonly<Record<string, RegExp>>;
  /** The line of counts, where what follows from a failure must be skipped. */
  readonly counts?: RegExp;
}

/** A suite with a test per control. */
export function describeControls(title: string, controls: Readonly<Record<string, Control>>): void {
  describe(title, function () {
    // Programs are built unless an earlier run has left them in the cache.
    this.timeout(45 * 60_000);
    for (const [name, control] of Object.entries(controls))
      it(`sees ${name}`, async () => {
        const { code, lines } = await broken(control);
        assert.equal(code, 1);
        const reasons = new Map(failures(lines));
        assert.deepEqual([...reasons.keys()].toSorted(), Object.keys(control.fails).toSorted());
        for (const [id, reason] of Object.entries(control.fails)) assert.match(reasons.get(id) ?? "", reason);
        if (control.counts !== undefined) assert.match(lines.at(-1) ?? "", control.counts);
      });
  });
}

/** Output and exit code of a rehearsal with faults. */
export async function broken(control: Omit<Control, "fails">): Promise<{ code: number; lines: readonly string[] }> {
  const { faults, only, stack = "aws-dev", options = [] } = control;
  const args = [
    "rehearse",
    "--stack",
    stack,
    ...stackDir,
    "--only",
    only,
    ...faults.flatMap((name) => ["--break", name]),
    ...options,
  ];
  const outcome = await run(fenestra, args, { maxBuffer: 16 * 2 ** 20 }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { readonly code: number; readonly stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );
  return { code: outcome.code, lines: outcome.stdout.trimEnd().split("\n") };
}

/** Ids of failed checks, with the reason on the line below. */
function failures(lines: readonly string[]): readonly (readonly [id: string, reason: string])[] {
  return lines.flatMap((line, index) => {
    const id = /FAIL {2} *\d+\/\d+ {2}\[([^\]]+)\]/.exec(line)?.[1];
    return id === undefined ? [] : [[id, (lines[index + 1] ?? "").trim()] as const];
  });
}
