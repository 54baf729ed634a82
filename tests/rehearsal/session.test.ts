import assert from "node:assert/strict";
import { type Check, CheckFailure, CheckSkipped } from "../../checks/check.ts";
import { plain } from "../../checks/report.ts";
import { CheckSession, requireChosen, selected } from "../../rehearsal/checks/session.ts";
import { RehearsalError } from "../../rehearsal/host/errors.ts";

const lines: string[] = [];
const progress = { startedAt: 0, line: (text: string) => void lines.push(text) };
const check = (id: string, more: Partial<Check> = {}): Check => ({ id, title: "t", run: async () => undefined, ...more });
const throws = (error: Error): Pick<Check, "run"> => ({ run: () => Promise.reject(error) });

describe("the checks of a rehearsal", () => {
  const strict = process.env.STRICT;
  beforeEach(() => {
    lines.length = 0;
    delete process.env.STRICT;
  });
  after(() => {
    if (strict === undefined) delete process.env.STRICT;
    else process.env.STRICT = strict;
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

  it("are numbered through all parts, and need those of earlier ones", async () => {
    const session = new CheckSession(progress, plain, 3);
    await session.run([check("a"), check("b", throws(new CheckFailure("no")))], {});
    await session.run([check("hidden")], {}, { isShown: ({ outcome }) => outcome === "failed" });
    await session.run([check("c", { needs: ["b"] })], {});
    assert.deepEqual(lines, ["pass  1/3  [a] t", "FAIL  2/3  [b] t\n      no", "skip  3/3  [c] t\n      follows from b"]);
    const ids = session.results.map(({ id }) => id);
    assert.deepEqual(ids, ["a", "b", "c"]);
  });

  it("may lack a program of the host, but not with STRICT=1", async () => {
    for (const [value, outcome] of [
      ["0", "skipped"],
      ["1", "failed"],
    ] as const) {
      process.env.STRICT = value;
      const [result] = await new CheckSession(progress, plain, 1).run([check("a", throws(new CheckSkipped("no shellcheck")))], {});
      assert.deepEqual([result?.outcome, result?.reason], [outcome, "no shellcheck"]);
    }
  });
});
