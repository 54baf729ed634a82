import assert from "node:assert/strict";
import fc from "fast-check";
import { type BasePlan, changedPaths, diffLines, diffPlans, diffText, readBasePlan } from "../../plan/report/diff.ts";
import type { Plan, PlanMachine, PlanResource } from "../../plan/report/plan.ts";

const machine = (name: string, content: string): PlanMachine => ({
  name,
  role: "linux",
  count: 1,
  size: "m7i.large",
  image: "ami-1",
  zones: ["a"],
  userData: { bytes: content.length, limit: 100, sha256: `digest of ${content}` },
  entry: "/run.sh",
  files: [{ path: "/run.sh", mode: "0755", bytes: content.length, sha256: "", content }],
});

const resource = (name: string, inputs: unknown, options: PlanResource["options"] = {}): PlanResource => ({
  urn: `urn:${name}`,
  type: "t",
  name,
  parent: null,
  custom: true,
  inputs,
  dependencies: [],
  options,
});

function plan(resources: readonly PlanResource[], machines: readonly PlanMachine[]): Plan {
  return {
    version: 1,
    stack: "s",
    cluster: {
      name: "s",
      cloud: "aws",
      region: "r",
      environment: "development",
      accountId: null,
      kubernetes: "1.36.4",
    },
    network: { cidr: "", nat: "none", podCidr: "", serviceCidr: "", zones: [], publicAccess: null },
    controlPlane: { size: "", image: "", etcdDiskGb: 8, members: [] },
    pools: [],
    machines,
    resources,
    outputs: [],
    messages: [],
    findings: [],
  };
}

function base(of: Plan): BasePlan {
  const read = readBasePlan(JSON.stringify(of));
  assert.ok(typeof read !== "string", "the plan cannot be read");
  return read;
}

describe("a comparison of plans", () => {
  it("finds nothing in the same plan", () => {
    const same = plan([resource("a", { x: 1 })], [machine("m", "one")]);
    const diff = diffPlans(base(same), same);
    assert.deepEqual(diff, { resources: [], machines: [], unchanged: ["m"] });
    assert.equal(diffText(diff), "Nothing changes.\n");
  });

  it("tells what is added, removed, changed and replaced, and which nodes go", () => {
    const old = plan(
      [
        resource("gone", {}),
        resource("kept", { x: 1, list: [{ y: 1 }] }),
        resource("trigger", {}, { replacementTrigger: "v1" }),
        resource("declared", { image: { id: 1 } }, { replaceOnChanges: ["image"] }),
        resource("same", { z: 1 }),
      ],
      [machine("m", "one\ntwo\n"), machine("n", "x")],
    );
    const now = plan(
      [
        resource("kept", { x: 1, list: [{ y: 2 }] }),
        resource("trigger", {}, { replacementTrigger: "v2" }),
        resource("declared", { image: { id: 2 } }, { replaceOnChanges: ["image"] }),
        resource("same", { z: 1 }),
        resource("new", {}),
      ],
      [machine("m", "one\n2\n"), machine("n", "x"), machine("o", "y")],
    );
    const diff = diffPlans(base(old), now);
    assert.deepEqual(
      diff.resources.map(({ name, change, inputs }) => [name, change, inputs]),
      [
        ["declared", "replaced", ["image.id"]],
        ["gone", "removed", []],
        ["kept", "changed", ["list[0].y"]],
        ["new", "added", []],
        ["trigger", "replaced", []],
      ],
    );
    assert.deepEqual(diff.machines, [
      {
        name: "m",
        role: "linux",
        nodes: "replaced",
        files: [
          {
            path: "/run.sh",
            lines: [
              { kind: "-", line: 2, text: "two" },
              { kind: "+", line: 2, text: "2" },
            ],
          },
        ],
      },
      { name: "o", role: "linux", nodes: "new", files: [] },
    ]);
    assert.deepEqual(diff.unchanged, ["n"]);
    assert.match(diffText(diff), /^5 resources change\n! replaced t declared: image\.id\n/);
    assert.match(diffText(diff), /\nm: nodes will be replaced\no: nodes are new\nn: nodes stay\n/);
  });

  it("refuses what is no plan of this version, with the reason", () => {
    assert.equal(readBasePlan("{"), "it is not JSON");
    const older = readBasePlan('{"version": 0, "resources": [], "machines": []}');
    assert.ok(typeof older === "string" && older.startsWith("it is not a plan of version 1"));
  });

  it("names every changed line and no other, for any texts", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", ""), { maxLength: 12 }).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(text, text, (old, now) => {
        const changes = diffLines(old, now);
        const [before, after] = [old.split("\n"), now.split("\n")];
        const removed = new Set(changes.filter(({ kind }) => kind === "-").map(({ line }) => line));
        const added = new Set(changes.filter(({ kind }) => kind === "+").map(({ line }) => line));
        // What is left of both sides once the changes are taken away is the same.
        assert.deepEqual(
          before.filter((_, index) => !removed.has(index + 1)),
          after.filter((_, index) => !added.has(index + 1)),
        );
        for (const { kind, line, text: content } of changes)
          assert.equal((kind === "-" ? before : after)[line - 1], content);
      }),
    );
  });

  it("finds the paths of leaves that differ", () => {
    assert.deepEqual(changedPaths({ a: { b: [1, 2] }, c: 1 }, { a: { b: [1, 3] }, d: 1 }), ["a.b[1]", "c", "d"]);
    assert.deepEqual(changedPaths(null, null), []);
  });
});
