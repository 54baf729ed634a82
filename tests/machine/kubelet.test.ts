import assert from "node:assert/strict";
import { checked, refusedSettings } from "../../components/machine/kubeletFlags.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { minors } from "../../components/model/releases.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/cloud.ts";
import { ofType, runStack, specOf } from "../support/mocks.ts";
import { exampleLinuxWorker } from "./examples.ts";
import { describeOnMachine, entry, spec as example, joinSecret, machine } from "./linux/machine.ts";

describe("the kubelet's flags", () => {
  it("that were removed are refused from that minor on, and not before", () => {
    const flag = ["--pod-infra-container-image=pause"];
    assert.deepEqual(refusedSettings("kubelet", "1.34", flag), []);
    for (const { minor } of minors) {
      assert.deepEqual(
        refusedSettings("kubelet", minor, flag).map(({ name }) => name),
        ["pod-infra-container-image"],
      );
    }
    assert.throws(
      () => checked("kubelet", "1.36", flag),
      /pod-infra-container-image \(gone since 1\.35, kubernetes\/kubernetes#133779\)/,
    );
  });

  it("feature gates are found inside their list", () => {
    const flags = ["--feature-gates=Other=false,NodeLogQuery=true"];
    assert.deepEqual(
      refusedSettings("kubelet", "1.36", flags).map(({ name }) => name),
      ["NodeLogQuery"],
    );
    assert.deepEqual(refusedSettings("kubelet", "1.35", flags), []);
    assert.deepEqual(refusedSettings("kube-proxy", "1.36", flags), []);
  });
});

describe("the fingerprint of a payload", () => {
  for (const stack of ["aws-prod", "azure-prod"])
    it(`is what each pool's gate of ${stack} wants`, async () => {
      const recorded = await runStack(stack);
      const gates = [...ofType(recorded, "pulumi:index:Stash")].flatMap(([name, { inputs }]) => {
        const pool = new RegExp(`^${stack}-in-pool-(.+)$`).exec(name)?.[1];
        return pool === undefined ? [] : [[pool, JSON.parse(JSON.stringify(inputs.input)).fingerprint] as const];
      });
      const machines = collectMachines(recorded.program, ({ desired }) => Math.max(desired, 1));
      const labels = machines.flatMap(({ role, userData }) => {
        const flags = decodeUserData(userData, awsObjects(recorded.program, role))
          .files.map(({ content }) => /--node-labels=([^\s"]+)/.exec(content)?.[1])
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

const own = {
  timeZone: "Europe/Berlin",
  annotations: { "example.com/owner": 'team "web" & friends' },
  beforeJoin: "set -eu\necho before >>/var/log/own.log\n[ ! -e /var/log/refuse ]\n",
  // Leaves a program behind, for which nobody waits.
  afterJoin: "echo after >>/var/log/own.log\necho agent\n/bin/sleep 300 &\n",
};
const cluster = { ...example, pools: example.pools.map((pool): PoolSpec => ({ ...pool, ...own })) };

describeOnMachine("the user's own steps on a machine", () => {
  it("hold a machine back while beforeJoin fails, and run once", () => {
    const here = machine(exampleLinuxWorker(cluster));
    here.secret(`/fenestra/${cluster.name}/join`, joinSecret(3600));
    here.write("/var/log/refuse", "");
    assert.ok(
      here
        .fails(42, /beforeJoin of the pool ended with 1/, entry)
        .calls.includes("timedatectl set-timezone Europe/Berlin"),
    );
    assert.equal(here.has("/etc/kubernetes/bootstrap-kubelet.conf"), false);
    here.runOrFail("rm", "/var/log/refuse");
    const joined = here.runOrFail(entry);
    here.runOrFail(entry);
    assert.equal(here.read("/var/log/own.log"), "before\nbefore\nafter\n");
    assert.equal(here.read("/var/log/fenestra/own-after.log"), "agent\n");
    assert.deepEqual(
      joined.calls.filter((call) => call.startsWith("kubectl") && call.includes(" patch node ")),
      [
        "kubectl --kubeconfig /etc/kubernetes/kubelet.conf patch node i-0123456789abcdef0 --patch-file /etc/fenestra/node-patch.json",
      ],
    );
    assert.deepEqual(JSON.parse(here.read("/etc/fenestra/node-patch.json")), {
      metadata: { annotations: own.annotations },
    });
  });
});
