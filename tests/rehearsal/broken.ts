import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { stackDir } from "../support/stacks.ts";

const run = promisify(execFile);
const fenestra = fileURLToPath(new URL("../../cli/fenestra", import.meta.url));

/** Output and exit code of a rehearsal that breaks one thing on purpose, or several. */
export async function broken(
  breakages: string | readonly string[],
  only: string,
  stack = "aws-dev",
  ...more: readonly string[]
): Promise<{ code: number; lines: readonly string[] }> {
  const outcome = await run(
    fenestra,
    ["rehearse", "--stack", stack, ...stackDir, "--only", only, ...[breakages].flat().flatMap((name) => ["--break", name]), ...more],
    {
      maxBuffer: 16 * 2 ** 20,
    },
  ).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { readonly code: number; readonly stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );
  return { code: outcome.code, lines: outcome.stdout.trimEnd().split("\n") };
}

/** Ids of the checks that failed, with the reason on the line below. */
export function failures(lines: readonly string[]): readonly (readonly [id: string, reason: string])[] {
  return lines.flatMap((line, index) => {
    const id = /FAIL {2} *\d+\/\d+ {2}\[([^\]]+)\]/.exec(line)?.[1];
    return id === undefined ? [] : [[id, (lines[index + 1] ?? "").trim()] as const];
  });
}
