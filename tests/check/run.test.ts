import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import {
  type Check,
  CheckFailure,
  type CheckResult,
  CheckSkipped,
  inOrder,
  NotYet,
  type RunOptions,
  runChecks,
  until,
  within,
} from "../../check/check.ts";
import * as facts from "../../check/facts.ts";
import { junitXml, recapLines, resultLines, xmlText } from "../../check/report.ts";
import { registryConfigDir } from "../../components/machine/registryMirrors.ts";
import { sampleAccount, tokenFacts } from "../../components/model/cloudFacts/identities.ts";
import { harmless } from "../../components/model/messages.ts";
import { monitoringNamespace } from "../../components/model/nodeSettings.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { buildLabel } from "../../components/model/pools.ts";
import { ports } from "../../components/model/ports.ts";
import { cniSpecVersion, minors } from "../../components/model/releases.ts";
import { lateSnapshotHours } from "../../components/model/timings.ts";
import { matchSnapshot } from "../support/snapshot.ts";

const check = (id: string, run: Check["run"] = async () => undefined, more: Partial<Check> = {}): Check => ({
  id,
  title: `title of ${id}`,
  run,
  ...more,
});
const fails = async () => {
  throw new CheckFailure("it is broken", "kubectl get it");
};

async function run(checks: readonly Check[], options: Partial<RunOptions> = {}) {
  const results = await runChecks(checks, {}, { limitMs: 1_000, onResult: () => undefined, ...options });
  return results.map(({ id, outcome, reason }) => `${id} ${outcome}${reason === undefined ? "" : `: ${reason}`}`);
}

describe("the engine of checks", () => {
  it("runs several at once, each after those that it needs, and gives the results in their order", async () => {
    const [order, first]: [string[], PromiseWithResolvers<void>] = [[], Promise.withResolvers()];
    const told = (id: string, wait?: Promise<void>) => async () => {
      await wait;
      order.push(id);
      if (id === "b") first.resolve();
    };
    const ended: string[] = [];
    const checks = [
      check("a", told("a", first.promise)),
      check("b", told("b")),
      check("c", told("c"), { needs: ["a"] }),
    ];
    assert.deepEqual(
      [order, ended, await run(checks, { atOnce: 3, onResult: ({ id }) => ended.push(id) })],
      [
        ["b", "a", "c"],
        ["b", "a", "c"],
        ["a passed", "b passed", "c passed"],
      ],
    );
  });

  it("skips what needs a failed check, with the first cause, but not what needs a passed, skipped or absent one", async () => {
    const dependent = (id: string, ...needs: readonly string[]): Check => check(id, fails, { needs });
    assert.deepEqual(
      await run([
        check("good"),
        check("bad", fails),
        check("none", undefined, { skip: "nothing to check" }),
        dependent("b", "good", "bad"),
        dependent("c", "b"),
        check("d", undefined, { needs: ["good", "none", "absent"] }),
      ]),
      [
        "good passed",
        "bad failed: it is broken",
        "none skipped: nothing to check",
        "b skipped: follows from bad",
        "c skipped: follows from bad",
        "d passed",
      ],
    );
    const [bad] = await runChecks([check("bad", fails)], {}, { limitMs: 1_000, onResult: () => undefined });
    assert.ok(bad !== undefined);
    assert.deepEqual(await run([dependent("later", "bad")], { earlier: [bad] }), ["later skipped: follows from bad"]);
    assert.deepEqual(await run(inOrder([check("1"), check("2", fails), check("3"), check("4")])), [
      "1 passed",
      "2 failed: it is broken",
      "3 skipped: follows from 2",
      "4 skipped: follows from 2",
    ]);
  });

  it("skips what finds no answer, unless skips fail, as in CI", async () => {
    const checks = [
      check("a", async () => {
        throw new CheckSkipped("no shellcheck");
      }),
      check("b", undefined, { skip: "the pool is empty" }),
    ];
    assert.deepEqual(await run(checks), ["a skipped: no shellcheck", "b skipped: the pool is empty"]);
    assert.deepEqual(await run(checks, { skipsFail: true }), [
      "a failed: no shellcheck",
      "b skipped: the pool is empty",
    ]);
  });

  it("ends a check at its time limit, with what it waits for, and shows meanwhile that it runs", async () => {
    let beats = 0;
    const onWaiting = () => {
      beats += 1;
    };
    assert.deepEqual(
      await run(
        [
          check("waits", async ({ signal }) =>
            until("the pod", { signal, intervalMs: 5 }, () => Promise.reject(new NotYet("it is Pending"))),
          ),
        ],
        { limitMs: 50, heartbeatMs: 10, onWaiting },
      ),
      ["waits failed: gave up waiting for the pod: it is Pending"],
    );
    assert.ok(beats > 0);
    const deaf = check("deaf", () => new Promise(() => undefined));
    assert.deepEqual(await run([deaf, check("next")], { limitMs: 20 }), [
      "deaf failed: not finished after 0.02 s",
      "next passed",
    ]);
    assert.deepEqual(
      await run(
        [
          check("slow", () => new Promise((resolve) => setTimeout(resolve, 60)), { limitMs: 10_000 }),
          ...within(10, [deaf]),
        ],
        { limitMs: 30 },
      ),
      ["slow passed", "deaf failed: not finished after 0.01 s"],
    );
  });

  it("ends at an interruption", async () => {
    const controller = new AbortController();
    const interrupts = check("a", async ({ signal }) => {
      controller.abort();
      assert.ok(signal.aborted);
      throw new CheckSkipped("never mind");
    });
    assert.deepEqual(await run([interrupts, check("b")], { interrupted: controller.signal }), [
      "a failed: interrupted",
      "b skipped: interrupted before it began",
    ]);
  });
});

describe("waiting in a check", () => {
  it("ends at once with a failure, else with the last reason", async () => {
    let attempts = 0;
    const attempt = async () => {
      attempts += 1;
      if (attempts < 3) throw new NotYet("not yet");
      return "there";
    };
    const signal = AbortSignal.timeout(5_000);
    assert.equal(await until("it", { signal, intervalMs: 1 }, attempt), "there");
    await assert.rejects(until("it", { signal }, fails), { message: "it is broken", lookAt: "kubectl get it" });
    await assert.rejects(
      until("it", { signal, limitMs: 5, intervalMs: 1, lookAt: "log" }, () => Promise.reject(new Error("refused"))),
      { name: "CheckFailure", message: "gave up waiting for it: refused", lookAt: "log" },
    );
  });
});

const results: readonly CheckResult[] = [
  {
    id: "workloads",
    title: "all pods",
    outcome: "failed",
    reason: 'Deployment a/b: image "x" <not found>\nand c',
    lookAt: "kubectl describe",
    notes: [],
    seconds: 1.25,
  },
  { id: "dns/linux", title: "names", outcome: "passed", notes: ["on l1", "on l2"], seconds: 0.5 },
  { id: "dns/windows-2022", title: "names", outcome: "skipped", reason: "simulated & so on", notes: [], seconds: 0 },
];

describe("report of checks", () => {
  it("is a JUnit file", () =>
    matchSnapshot(path.join(import.meta.dirname, "snapshots/junit.xml"), junitXml(results, "https://api:6443")));

  it("steers no terminal with what a node says of itself", () => {
    const reason = "\u001b[2J\rpass\u009b";
    const hostile: CheckResult = { id: "nodes", title: "t", outcome: "failed", reason, notes: [], seconds: 0 };
    const shown = "\u{FFFD}[2J\u{FFFD}pass\u{FFFD}";
    assert.equal(resultLines(hostile, { number: 1, of: 1 }), `FAIL  1/1  [nodes] t\n      ${shown}`);
    assert.deepEqual(recapLines([hostile]), ["failed:", `  [nodes] ${shown}`]);
    assert.equal(harmless("a\u202eb\tc\n"), "a\u{FFFD}b\tc\n");
  });

  it("gives a pipeline no command with it", () => {
    assert.equal(
      harmless("x ##vso[task.setvariable variable=a]b ##[error]c\n  ::add-mask::d\n:: a::b ## [c] #d"),
      "x # #vso[task.setvariable variable=a]b # #[error]c\n  : :add-mask::d\n: : a::b ## [c] #d",
    );
  });

  it("keeps every text in XML, and no character that would end it", () =>
    assert.equal(
      xmlText('<a b="&\'">\u0000\u0008\n\r\t\u000b\ufffe\u{1f600}'),
      "&lt;a b=&quot;&amp;'&quot;&gt;\ufffd\ufffd&#10;&#13;&#9;\ufffd\ufffd\u{1f600}",
    ));
});

describe("what checks expect", () => {
  it("is what the program makes, though neither reads the other", () => {
    const { api, etcdClient, kubelet, nodeExporter: linuxExporter, windowsExporter } = ports;
    assert.deepEqual(facts.ports, { api, etcdClient, kubelet, linuxExporter, windowsExporter });
    const wanted = Object.fromEntries(windowsReleases.map(({ name, build }) => [name.slice("windows-".length), build]));
    assert.deepEqual(facts.windowsBuilds, wanted);
    for (const { minor, coredns } of minors) assert.equal(facts.coreDnsTag(`${minor}.0`), coredns);
    assert.deepEqual(facts.tokenAudiences, { aws: tokenFacts.aws.audience, azure: tokenFacts.azure.audience });
    const policies = readFileSync(new URL("../../components/kubernetes/guardRails/pods.yaml", import.meta.url), "utf8");
    for (const label of Object.values(facts.allowingLabels))
      assert.ok(policies.includes(`labels[?"${label}"].orValue("") != "allowed"`), label);
    assert.deepEqual(
      [
        facts.windowsBuildLabel,
        facts.cniVersion,
        facts.registryFolder,
        facts.sampleAccount,
        facts.exporterNamespace,
        facts.lateSnapshotHours,
      ],
      [buildLabel, cniSpecVersion, registryConfigDir.linux, sampleAccount, monitoringNamespace, lateSnapshotHours],
    );
  });
});
