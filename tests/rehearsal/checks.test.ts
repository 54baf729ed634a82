import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Check, CheckFailure, type CheckResult } from "../../check/check.ts";
import { plain } from "../../check/report.ts";
import { loadConfig } from "../../components/config/load.ts";
import { stackNames } from "../../components/config/stackFile.ts";
import { objectsIn } from "../../rehearsal/api/ownObjects.ts";
import { elsewhere, manual, places } from "../../rehearsal/checks/manual.ts";
import { changesOf } from "../../rehearsal/checks/objects.ts";
import { expectedPools } from "../../rehearsal/checks/selection.ts";
import { CheckSession, requireChosen, selected, summary } from "../../rehearsal/checks/session.ts";
import { RehearsalError } from "../../rehearsal/host/command.ts";
import { withEveryAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { documents } from "../docs/documents.ts";
import { stackConfig, stackDir, testStacks } from "../support/stacks.ts";
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
    assert.deepEqual(summary([good, good]), { lines: ["2 passed, 0 failed"], passed: true });
    assert.deepEqual(summary([good, bad, skipped]), {
      lines: ["skipped, why: a", "failed:", "  [a] why", "1 passed, 1 failed, 1 skipped"],
      passed: false,
    });
  });

  it("is a failure when every check was skipped, or none was run", () => {
    const lines = ["no check has passed: each one was skipped"];
    assert.deepEqual(summary([skipped, skipped]), {
      lines: ["skipped, why: a", ...lines, "0 passed, 0 failed, 2 skipped"],
      passed: false,
    });
    assert.deepEqual(summary([]), { lines: [...lines, "0 passed, 0 failed"], passed: false });
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

describe("objects of the user's own in a rehearsal", () => {
  it("are read from what a chart renders, empty documents and lists included", () => {
    const pod = "{ apiVersion: v1, kind: Pod, metadata: { name: p } }";
    const text = `# Source: web\n---\n---\napiVersion: v1\nkind: List\nitems: [${pod}]\n---\n${pod}\n`;
    assert.deepEqual(
      objectsIn("x", text).map(({ metadata }) => metadata.name),
      ["p", "p"],
    );
  });

  for (const [text, place] of [
    ["a: [", 1],
    ["---\napiVersion: v1\nkind: Pod\n", 1],
    ["apiVersion: v1\nkind: Pod\nmetadata: { name: a }\n---\nreplicas: 1\n", 2],
  ] as const)
    it(`are refused with their place: ${JSON.stringify(text)}`, () =>
      assert.throws(() => objectsIn("x", text), { message: new RegExp(`^x, document ${place}: `) }));

  it("show what policies have changed, and nothing that every pod gets", () => {
    const tolerations = [{ key: "node.kubernetes.io/not-ready" }, { key: "os" }];
    const nodeSelector = { "kubernetes.io/os": "windows" };
    assert.deepEqual(changesOf({ nodeSelector }, { tolerations, nodeSelector, runtimeClassName: "windows-2022" }), [
      "fenestra-placement: runtimeClassName windows-2022",
      "fenestra-placement: toleration of os",
    ]);
    assert.deepEqual(changesOf({}, { tolerations: tolerations.slice(0, 1) }), []);
  });
});

describe("a rehearsal with every add-on", () => {
  for (const stack of stackNames(testStacks))
    it(`has a valid config with a node in every pool: ${stack}`, () => {
      const config = loadConfig(withEveryAddOn(stackConfig(stack)));
      assert.ok(config.addons.samples === true && config.addons.exporters && config.addons.gmsa !== undefined);
      for (const { name, count } of expectedPools(config)) assert.ok(count > 0, name);
      assert.equal(config.network.policies, config.network.pods === "flannel" ? "linux" : "none");
      const written = loadConfig(stackConfig(stack));
      const pools = config.pools.map(({ name, os, size }) => [name, os, size]);
      const wanted = written.pools.map(({ name, os, size }) => [name, os, size]);
      assert.deepEqual(pools, wanted);
    });
});

describe("negative controls", () => {
  it("have each a test", () => {
    const folder = import.meta.dirname;
    const tests = globSync("*.test.ts", { cwd: folder }).map((name) => readFileSync(path.join(folder, name), "utf8"));
    const untested = Object.keys(breakages).filter((name) => !tests.some((text) => text.includes(`"${name}"`)));
    assert.deepEqual(untested, []);
  });
});
