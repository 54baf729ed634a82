import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const fenestra = fileURLToPath(new URL("../../cli/fenestra", import.meta.url));

/** Output and exit code of a rehearsal that breaks something on purpose. */
async function broken(breakage: string, only: string): Promise<{ code: number; lines: readonly string[] }> {
  const outcome = await run(fenestra, ["rehearse", "--stack", "aws-dev", "--only", only, "--break", breakage], {
    maxBuffer: 16 * 2 ** 20,
  }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { readonly code: number; readonly stdout: string }) => ({ code: error.code, stdout: error.stdout }),
  );
  return { code: outcome.code, lines: outcome.stdout.trimEnd().split("\n") };
}

/** Ids of the checks that failed, with the reason on the line below. */
function failures(lines: readonly string[]): readonly (readonly [id: string, reason: string])[] {
  return lines.flatMap((line, index) => {
    const id = /FAIL {2}\[([^\]]+)\]/.exec(line)?.[1];
    return id === undefined ? [] : [[id, (lines[index + 1] ?? "").trim()] as const];
  });
}

describe("the rehearsal's checks can fail", function () {
  // The programs are built once when no earlier run has left them in the cache.
  this.timeout(45 * 60_000);

  it("sees a taint that is corrupted in the decoded user data", async () => {
    const { code, lines } = await broken("windows-taint", "pool ");
    assert.equal(code, 1);
    assert.deepEqual(
      failures(lines).map(([id]) => id),
      ["pool win2019: registration", "pool win2022: registration"],
    );
    for (const [, reason] of failures(lines)) {
      assert.match(
        reason,
        /^taint os of i-[0-9a-f]{17}: found \[{"effect":"NoSchedule","key":"os","value":"Windows"}\], wanted \[{"effect":"NoSchedule","key":"os","value":"windows"}\]$/,
      );
    }
    assert.equal(lines.at(-1), "4 passed, 2 failed");
  });
});
