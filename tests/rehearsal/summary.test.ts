import assert from "node:assert/strict";
import type { CheckResult } from "../../checks/check.ts";
import { summary } from "../../rehearsal/run/summary.ts";
import { fenestra } from "../support/fenestra.ts";
import { stackDir } from "../support/stacks.ts";

const ended = (outcome: CheckResult["outcome"]): CheckResult => ({ id: "a", title: "", outcome, reason: "why", notes: [], seconds: 0 });
const [good, bad, skipped] = [ended("passed"), ended("failed"), ended("skipped")];

describe("the end of a rehearsal", () => {
  it("counts, and is a failure when a check failed", () => {
    assert.deepEqual(summary([good, good], ""), { lines: ["2 passed, 0 failed"], passed: true });
    assert.deepEqual(summary([good, bad, skipped], ""), {
      lines: ["failed:", "  [a] why", "1 passed, 1 failed, 1 skipped"],
      passed: false,
    });
  });

  it("is a failure when every check was skipped", () => {
    assert.deepEqual(summary([skipped, skipped], "slow"), {
      lines: ["no check has passed: each one was skipped", "0 passed, 0 failed, 2 skipped"],
      passed: false,
    });
  });

  it("is a failure when no check was run", () => {
    const { lines, passed } = summary([], "none");
    assert.equal(passed, false);
    assert.match(lines[0] ?? "", /^no check was run; --only none: allowed is the beginning of a check's id/);
    assert.equal(lines.at(-1), "0 passed, 0 failed");
  });
});

describe("fenestra rehearse", () => {
  it("tells a mistake in one line with exit code 2", async () => {
    for (const [args, message] of [
      [[], /^fenestra: rehearse needs --stack NAME; allowed: aws-dev, .*azure-prod\n$/],
      [["--fast"], /^fenestra: Unknown option '--fast'; fenestra rehearse --help shows what is allowed\n$/],
      [["--stack", "aws-dev", "--break", "x"], /^fenestra: --break x: there is no such breakage; allowed: windows-taint/],
    ] as const) {
      const { code, out, err } = await fenestra("rehearse", ...stackDir, ...args);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, message);
    }
  });
});
