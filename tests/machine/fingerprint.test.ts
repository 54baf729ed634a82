import assert from "node:assert/strict";
import type { WorkerPayload } from "../../components/machine/payload.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import type { LinuxPool } from "../../components/model/pools.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { ofType, runStack, specOf } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { exampleLinuxWorker, exampleWindowsWorker, linuxPool, windowsPool } from "./examples.ts";

const spec = exampleSpec("aws-prod");
/** A change of what pools of both systems have. */
type CommonChange = Partial<Omit<LinuxPool, "os" | "release">>;

const kinds: readonly (readonly [string, (change: CommonChange, of?: ClusterSpec) => WorkerPayload])[] = [
  ["linux", (change, of = spec) => exampleLinuxWorker(of, { ...linuxPool(of), ...change })],
  ["windows", (change, of = spec) => exampleWindowsWorker(of, { ...windowsPool(of), ...change })],
];

describe("the fingerprint of a payload", () => {
  for (const [kind, payload] of kinds) {
    it(`of ${kind} is what the node registers, and no placeholder is left of it`, () => {
      const { fingerprint, files } = payload({});
      assert.match(fingerprint, /^[0-9a-f]{16}$/);
      const text = files.map(({ content }) => content).join("\n");
      const marks = [...text.matchAll(/fenestra\.dev\/payload=(\w+)/g)].map(([, value]) => value);
      assert.deepEqual(marks, [fingerprint]);
      assert.doesNotMatch(text, /@PAYLOAD@/);
    });

    it(`of ${kind} changes with all that replaces the machines, and with nothing else`, () => {
      const { fingerprint } = payload({});
      const same: readonly CommonChange[] = [
        { count: 7 },
        { waitForNodes: false },
        { autoscale: { min: 1, max: 9 } },
        { zones: ["a"] },
      ];
      for (const change of same) assert.equal(payload(change).fingerprint, fingerprint, JSON.stringify(change));
      const other: readonly CommonChange[] = [
        { image: "ami-1" },
        { diskGb: 51 },
        { spot: true },
        { nodeLogQuery: true },
      ];
      for (const change of other) assert.notEqual(payload(change).fingerprint, fingerprint, JSON.stringify(change));
      const later = { ...spec, kubernetes: { ...spec.kubernetes, version: "1.36.3" } };
      assert.notEqual(payload({}, later).fingerprint, fingerprint);
    });
  }

  for (const stack of ["aws-prod", "azure-prod"])
    it(`is what the gate behind each pool of ${stack} wants of its nodes`, async () => {
      const recorded = await runStack(stack);
      const gates = [...ofType(recorded, "pulumi:index:Stash")].flatMap(([name, { inputs }]) => {
        const pool = new RegExp(`^${stack}-in-pool-(.+)$`).exec(name)?.[1];
        return pool === undefined ? [] : [[pool, JSON.parse(JSON.stringify(inputs.input)).fingerprint] as const];
      });
      const machines = collectMachines(recorded.program, ({ desired }) => Math.max(desired, 1));
      const labels = machines.flatMap(({ role, userData }) => {
        const { files } = decodeUserData(userData, awsObjects(recorded.program, role));
        const flags = files
          .map(({ content }) => /--node-labels=([^\s"]+)/.exec(content)?.[1])
          .find((found) => found !== undefined);
        const registered = new Map(
          (flags ?? "")
            .split(",")
            .map((pair): [string, string] => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""]),
        );
        const pool = registered.get("fenestra.dev/pool");
        return pool === undefined ? [] : [[pool, registered.get("fenestra.dev/payload")] as const];
      });
      assert.equal(gates.length, specOf(stack).pools.length);
      assert.deepEqual(new Map(gates), new Map(labels));
    });
});
