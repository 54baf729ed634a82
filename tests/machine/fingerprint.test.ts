import assert from "node:assert/strict";
import type { WorkerPayload } from "../../components/machine/payload.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { ofType, runStack, specOf } from "../support/mocks.ts";
import { exampleSpec } from "../support/stacks.ts";
import { exampleLinuxWorker, exampleWindowsWorker } from "./examples.ts";

const spec = exampleSpec("aws-prod");
const kinds: readonly (readonly [string, () => WorkerPayload])[] = [
  ["linux", () => exampleLinuxWorker(spec)],
  ["windows", () => exampleWindowsWorker(spec)],
];

describe("the fingerprint of a payload", () => {
  for (const [kind, payload] of kinds)
    it(`of ${kind} is what the node registers, and no placeholder is left of it`, () => {
      const { fingerprint, files } = payload();
      assert.match(fingerprint, /^[0-9a-f]{16}$/);
      const text = files.map(({ content }) => content).join("\n");
      const marks = [...text.matchAll(/fenestra\.dev\/payload=(\w+)/g)].map(([, value]) => value);
      assert.deepEqual(marks, [fingerprint]);
      assert.doesNotMatch(text, /@PAYLOAD@/);
    });

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
