import assert from "node:assert/strict";
import { type Check, CheckFailure, type CheckResult } from "../../check/check.ts";
import { plain } from "../../check/report.ts";
import { elsewhere, manual, places } from "../../rehearsal/checks/manual.ts";
import { CheckSession, requireChosen, selected, summary } from "../../rehearsal/checks/session.ts";
import { RehearsalError } from "../../rehearsal/host/command.ts";
import { documents } from "../docs/documents.ts";
import { stackDir } from "../support/stacks.ts";
import { fenestra } from "../support/suite.ts";

const lines: string[] = [];
const progress = { startedAt: 0, line: (text: string) => void lines.push(text) };
const check = (id: string, more: Partial<Check> = {}): Check => ({
  id,
  title: "t",
  run: async () => undefined,
  ...more,
});
const throws = (error: Error): Pick<Check, "run"> => ({ run: () => Promise.reject(error) });

describe("the checks of a rehearsal", () => {
  beforeEach(() => {
    lines.length = 0;
  });

  it("are chosen by the beginning of their ids, the slow ones only when all are asked for", () => {
    const checks = [check("pool a"), check("pool b", { slow: true }), check("pods")];
    const run = (only: string, full: boolean, ...skip: string[]) =>
      selected(checks, { only, skip, full }).map(({ id, skip }) => (skip === undefined ? id : `${id}: ${skip}`));
    assert.deepEqual(run("pool", true), ["pool a", "pool b"]);
    assert.deepEqual(run("p", true, "pods", "pool b"), ["pool a"]);
    assert.deepEqual(run("", false), ["pool a", "pool b: it is slow: --full runs it", "pods"]);
  });

  it("are refused before anything boots when none is chosen", () => {
    const checks = [check("pool a"), check("pods")];
    for (const only of ["", "po", "pods"]) requireChosen({ only, skip: [], full: false }, checks);
    const message = "--only nosuch: no check of this stack has an id that begins so; allowed: pool a, pods";
    assert.throws(() => requireChosen({ only: "nosuch", skip: [], full: false }, checks), new RehearsalError(message));
    const slow = [check("late", { slow: true }), check("pods")];
    requireChosen({ only: "late", skip: [], full: true }, slow);
    const more = "--only late: chooses slow checks alone (late); add --full";
    assert.throws(() => requireChosen({ only: "late", skip: [], full: false }, slow), new RehearsalError(more));
  });

  it("fold to a line when they pass, and tell each failure", async () => {
    const session = new CheckSession(progress, plain, 3, false);
    await session.run([check("a"), check("b", { skip: "why" }), check("c")], {}, { fold: "the cluster", atOnce: 2 });
    await session.run([check("d", throws(new CheckFailure("no")))], {}, { fold: "a worker" });
    assert.deepEqual(lines, ["pass  the cluster: 2 passed", "FAIL  4/4  [d] t\n      no"]);
  });
});

const ended = (outcome: CheckResult["outcome"]): CheckResult => ({
  id: "a",
  title: "",
  outcome,
  reason: "why",
  notes: [],
  seconds: 0,
});
const [good, bad, skipped] = [ended("passed"), ended("failed"), ended("skipped")];

describe("the end of a rehearsal", () => {
  it("counts, and is a failure when a check failed", () => {
    assert.deepEqual(summary([good, good], ""), { lines: ["2 passed, 0 failed"], passed: true });
    assert.deepEqual(summary([good, bad, skipped], ""), {
      lines: ["skipped, why: a", "failed:", "  [a] why", "1 passed, 1 failed, 1 skipped"],
      passed: false,
    });
  });

  it("is a failure when every check was skipped", () => {
    assert.deepEqual(summary([skipped, skipped], "slow"), {
      lines: ["skipped, why: a", "no check has passed: each one was skipped", "0 passed, 0 failed, 2 skipped"],
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
      [["--fast"], /^fenestra: unknown option '--fast'; fenestra rehearse --help shows what is allowed\n$/],
      [
        ["--stack", "aws-dev", "--break", "x"],
        /^fenestra: --break x: there is no such breakage; allowed: windows-taint/,
      ],
    ] as const) {
      const { code, out, err } = await fenestra("rehearse", ...stackDir, ...args);
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, message);
    }
  });
});

describe("commands of the manual", () => {
  it("say who runs them, where the rehearsal's cluster does not, and those of clouds and of Pulumi are not run there", () => {
    const steps = manual();
    const blocks = documents()
      .filter(({ file }) => !/^docs\/adr|^C[A-Z]+/.test(file))
      .flatMap((document) => document.blocks);
    assert.ok(
      steps.length >= blocks.filter(({ language }) => language === "sh").length && steps.length > 100,
      String(steps.length),
    );
    for (const { at, mark, text } of steps) {
      assert.ok(["", ...places, ...Object.keys(elsewhere)].includes(mark), `${at}: ${mark}`);
      assert.equal(
        /\b(pulumi|aws|az|gh|fenestra (pin|preflight|up|down)) /.test(text),
        mark === "account",
        `${at}: ${text}`,
      );
    }
    // Commands are in blocks marked so.
    for (const { language, text } of blocks)
      assert.ok(language !== "" || !/^(aws|az|kubectl|pulumi) /.test(text), text);
  });
});
