import assert from "node:assert/strict";
import type { CheckResult } from "../../check/check.ts";
import { loadConfig } from "../../components/config/load.ts";
import { objectsIn } from "../../rehearsal/api/ownObjects.ts";
import { elsewhere, manual, places } from "../../rehearsal/checks/manual.ts";
import { changesOf } from "../../rehearsal/checks/objects.ts";
import { expectedPools } from "../../rehearsal/checks/selection.ts";
import { requireChosen, selected, summary } from "../../rehearsal/checks/session.ts";
import { verifyIds } from "../../rehearsal/checks/verify.ts";
import { stackConfig } from "../support/stacks.ts";

describe("the checks of a rehearsal", () => {
  it("are chosen by the beginning of their ids, the slow ones only when all are asked for", () => {
    const checks = [{ id: "pool a" }, { id: "pool b", slow: true }, { id: "pods" }].map((each) => ({
      ...{ ...each, title: "t" },
      run: async () => undefined,
    }));
    const run = (only: string, full: boolean, ...skip: string[]) =>
      selected(checks, { only, skip, full }).map(({ id, skip }) => (skip === undefined ? id : `${id}: ${skip}`));
    assert.deepEqual(run("pool", true), ["pool a", "pool b"]);
    assert.deepEqual(run("p", true, "pods", "pool b"), ["pool a"]);
    assert.deepEqual(run("", false), ["pool a", "pool b: it is slow: --full runs it", "pods"]);
  });

  it("of verify are those of the stack's add-ons, before there is a cluster", () => {
    const chosen = (name: string, only: string) => {
      const config = loadConfig(stackConfig(name));
      requireChosen({ only, skip: [], full: true }, verifyIds(expectedPools(config), config.addons));
    };
    for (const only of ["volume/linux", "disk-driver/windows-2019", "restored/linux", "exporters"])
      chosen("aws-dev", only);
    for (const only of ["share/linux/", "metrics/control-plane"])
      assert.throws(() => chosen("aws-dev", only), /allowed: .* volume, /);
  });

  it("are a failure when one failed, each was skipped, or none was run", () => {
    const ended = (outcome: CheckResult["outcome"]): CheckResult => ({
      ...{ id: "a", title: "", outcome, reason: "why", notes: [], seconds: 0 },
    });
    const [good, bad, skipped] = [ended("passed"), ended("failed"), ended("skipped")];
    for (const [results, passed, counts] of [
      [[good, skipped], true, "1 passed, 0 failed, 1 skipped"],
      [[good, bad], false, "1 passed, 1 failed"],
      [[skipped], false, "0 passed, 0 failed, 1 skipped"],
      [[], false, "0 passed, 0 failed"],
    ] as const) {
      const told = summary([...results]);
      assert.deepEqual([told.passed, told.lines.at(-1)], [passed, counts]);
    }
  });
});

it("commands of the manual say who runs them, where the rehearsal's cluster does not", () => {
  for (const { at, mark } of manual())
    assert.ok(["", ...places, ...Object.keys(elsewhere)].includes(mark), `${at}: ${mark}`);
});

describe("objects of the user's own in a rehearsal", () => {
  it("are read from what a chart renders, empty documents and lists included, or refused with their place", () => {
    const pod = "{ apiVersion: v1, kind: Pod, metadata: { name: p } }";
    assert.deepEqual(
      objectsIn("x", `# Source: web\n---\n---\napiVersion: v1\nkind: List\nitems: [${pod}]\n---\n${pod}\n`).map(
        ({ metadata }) => metadata.name,
      ),
      ["p", "p"],
    );
    assert.throws(() => objectsIn("x", `${pod}\n---\nreplicas: 1\n`), { message: /^x, document 2: / });
  });

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
