import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { poolRoll as awsRoll } from "../../components/aws/poolGroup.ts";
import { poolRoll as azureRoll } from "../../components/azure/poolGroup.ts";
import { type PoolRoll, poolGate, poolState, refuseUpdate, Unasked } from "../../components/gates/poolGate.ts";
import { resourcesOfType } from "../../components/gates/values.ts";
import { tagRefusal } from "../../components/model/cloudFacts/aws.ts";
import { sizeRefusal } from "../../components/model/cloudFacts/azure.ts";
import type { ClusterSpec } from "../../components/model/clusterSpec.ts";
import { groupSize } from "../../components/model/pools.ts";
import { runConfig, withMocks } from "../support/mocks.ts";
import { exampleSpec, stackConfig } from "../support/stacks.ts";
import {
  type Args,
  group,
  type ListedNode,
  nodeList,
  pageAnswer,
  pass,
  pool as poolOfGuards,
  fingerprint as wanted,
} from "./faults.ts";
import { type Answer, runHook } from "./serving.ts";

const older = "bbbbbbbbbbbbbbbb";
const limitSeconds = 0.01;
const { name } = poolOfGuards;

describe("the gate behind a pool", () => {
  const aws = exampleSpec("aws-dev");
  const azure = exampleSpec("azure-prod");

  interface Wait {
    readonly spec?: ClusterSpec;
    readonly pool?: string;
    readonly roll?: (spec: ClusterSpec, pool: ClusterSpec["pools"][number]) => PoolRoll;
    readonly page?: Parameters<typeof pageAnswer>;
    readonly limitSeconds?: number;
    /** What the cloud says of its machines, one answer after the other, where a transform changes them. */
    readonly cloud?: readonly (readonly string[] | Error)[];
    /** The gate's last state. */
    readonly kept?: object;
  }

  /** Waits at a pool's gate while the API gives these lists one after the other, the last for ever. */
  async function wait(lists: readonly (readonly ListedNode[])[], how: Wait = {}) {
    const { spec = aws, pool: name = "win2019", roll = awsRoll, page, limitSeconds = 0.05, cloud, kept = {} } = how;
    const pool = spec.pools.find((each) => each.name === name) ?? assert.fail(`no pool ${name}`);
    const asked: string[] = [];
    const left = [...lists];
    const answer = (path: string): Answer => {
      if (path === "/api/v1/namespaces/kube-system/configmaps/fenestra-machines")
        return page === undefined ? { status: 404, body: '{"kind":"Status"}' } : pageAnswer(...page);
      asked.push(path);
      const nodes = left.length > 1 ? left.shift() : left[0];
      return nodes === undefined ? { status: 500, body: "" } : nodeList(nodes);
    };
    const says = [...(cloud ?? [])];
    const askRoll = async (id: string) => {
      asked.push(id);
      const said = says.length > 1 ? says.shift() : says[0];
      if (said === undefined || said instanceof Error) throw said ?? assert.fail("nobody asks");
      return said;
    };
    const machines = cloud === undefined || "machines" in kept ? undefined : pulumi.output("changed");
    const sent = { count: groupSize(pool).minSize, machines, id: "the group" };
    const { version: release } = spec.kubernetes;
    const made = { release, pool, fingerprint: pulumi.output(wanted), roll: roll(spec, pool), sent, askRoll };
    const make = ({ api, patience }: Args) => poolGate("gate", { ...made, api, patience }, {});
    assert.deepEqual((await pass(make, answer, { old: kept, limitSeconds })).program.resources.at(-1)?.inputs.input, {
      ...{ fingerprint: wanted, count: sent.count },
      ...(machines !== undefined && { machines: "changed" }),
    });
    return asked;
  }

  it("opens when as many nodes as wanted are Ready, made from the wanted payload, and none is older", async () => {
    // The last list twice: a node that has just died is Ready in one look.
    assert.deepEqual(
      await wait([[], [{}], [{}, { payload: older }, {}], [{}, { taint: "os" }]], { limitSeconds: 5 }),
      Array(5).fill("/api/v1/nodes?labelSelector=fenestra.dev%2Fpool%3Dwin2019&limit=500"),
    );
  });

  it("asks an autoscaled pool for its least number of nodes only, none included, and lets more of them be sick", async () => {
    for (const nodes of [[], [{ sick: "disk" }]])
      await wait([nodes], { spec: azure, pool: "win2019", roll: azureRoll, limitSeconds: 5 });
    await assert.rejects(wait([[{ payload: older }]], { spec: azure, pool: "win2019", roll: azureRoll }));
  });

  it("says which node is wrong in what, what a machine waits for, and where its last stage is", async () => {
    const nodes = [
      { sick: "cni plugin not initialized\n\u001b[31m##vso[a]b" },
      { kubelet: "v1.36.3" },
      { taint: "node.kubernetes.io/unreachable" },
    ];
    await assert.rejects(wait([nodes]), (error: Error) => {
      assert.match(error.message, /^pool win2019 is not ready after 0\.05 seconds; last answer: /);
      assert.match(error.message, /node node-0 is not Ready: NotYet cni plugin not initialized \[31m# #vso\[a\]b\n/);
      assert.match(error.message, /node node-1 runs kubelet 1\.36\.3, wanted is 1\.37\.1\n/);
      assert.match(error.message, /node node-2 is not Ready: unreachable\n/);
      assert.match(error.message, /waitForNodes: false at config\.fenestra:pools\[1\]\.$/);
      return true;
    });
    const pools = {
      "aws-dev-win2019": { wanted: 2, ready: 1, old: 0, lost: ["i-0"] },
      "aws-dev-linux": { wanted: 7, ready: 7, old: 0 },
    };
    const requests = { waiting: 1, reasons: ["i-1: no machine of the cloud"] };
    await assert.rejects(wait([[{}]], { page: [pools, { requests }] }), (error: Error) => {
      assert.match(
        error.message,
        /have no node\n {2}The node controller says:\n {4}aws-dev-win2019: 1 of 2 Ready\n {6}never joined, to be replaced: i-0\n {4}1 certificate requests wait: i-1: no machine/,
      );
      assert.match(
        error.message,
        /describe-scaling-activities --region eu-central-1 --auto-scaling-group-name aws-dev-win2019;/,
      );
      assert.match(error.message, /get-console-output --region eu-central-1 --latest --output text --instance-id ID\n/);
      return true;
    });
  });

  it("names on Azure the quota and the machines that were updated in place, by names that are those of the pool", async () => {
    const pool = azure.pools.find(({ release }) => release.name === "windows-2025") ?? assert.fail();
    const spec = { ...azure, pools: [{ ...pool, name: "win25", autoscale: undefined, count: 2 }] };
    const names = ["win2500000z", "win25000010", "win2500001", "win25000!1a", "other00001a"];
    const nodes = names.map((name) => ({ payload: older, name }));
    await assert.rejects(wait([nodes], { spec, pool: "win25", roll: azureRoll }), (error: Error) => {
      assert.match(error.message, new RegExp(`node win2500000z was made from payload ${older}, wanted is ${wanted}`));
      assert.match(error.message, /quota has no room for one more: raise it for \S+ in westeurope/);
      assert.match(
        error.message,
        /az vmss delete-instances --resource-group \S+ --name azure-prod-win25 --instance-ids ID, and then az vmss scale .* --new-capacity \d+ \(win2500000z is 35, win25000010 is 36\)\n/,
      );
      return true;
    });
  });

  it("waits for the cloud's word where a transform changes the machines, or did, and else asks nobody", async () => {
    const good = [[{}, {}]];
    const asked = async (how: Wait) =>
      (await wait(good, { limitSeconds: 5, ...how })).filter((each) => each === "the group");
    const rolls = [["machine i-1 is not made of lt-1 version 3"], new Error("ECONNRESET"), []];
    assert.equal((await asked({ cloud: rolls })).length, 4);
    assert.equal((await asked({ cloud: rolls, kept: { machines: "before" } })).length, 4);
    await assert.rejects(wait(good, { cloud: rolls.slice(0, 1) }), (error: Error) => {
      assert.match(error.message, /machine i-1 is not made of lt-1 version 3\n/);
      assert.match(error.message, /Progress of the roll: aws autoscaling describe-instance-refreshes/);
      return true;
    });
    // Who may not ask is told so, and goes on.
    assert.equal((await asked({ cloud: [new Unasked("it needs autoscaling:DescribeInstanceRefreshes")] })).length, 1);
    const spot = { ...azure, pools: azure.pools.map((pool) => ({ ...pool, spot: true })) };
    await wait([[{}]], { spec: spot, pool: "win2019", roll: azureRoll, cloud: [], limitSeconds: 5 });
  });

  it("takes the machines of a spot set on Azure as they are, since nothing replaces them", async () => {
    const spec = {
      ...azure,
      pools: azure.pools.map((pool) => ({ ...pool, spot: true, count: 1, autoscale: undefined })),
    };
    await wait([[{ payload: older, kubelet: "v1.35.0" }]], { spec, pool: "win2019", roll: azureRoll, limitSeconds: 5 });
  });

  it("sees progress in each node that comes and each that goes, whatever else is wrong", () => {
    const node = (payload: string, sick?: string) => ({ name: "n", release: "1.36.4", payload, sick });
    const [good, old, coming] = [node(wanted), node(older), node(wanted, "starting")];
    const steps = [
      [old, old],
      [old, old, coming],
      [old, old, good],
      [old, good],
      [old, good, coming],
      [old, good, good],
      [good, good],
    ];
    const want = { pool: "p", count: 2, release: "1.36.4", fingerprint: wanted };
    assert.deepEqual(
      steps.map((nodes) => poolState(nodes, want).progress),
      [-2, -2, -1, 0, 0, 1, 2],
    );
    assert.deepEqual(
      steps.map((nodes) => poolState(nodes, want).problems.length === 0),
      [false, false, false, false, false, false, true],
    );
  });
});

describe("the guard of a pool's release", () => {
  it("refuses kubelets that are newer than an API server, which --target would bring", async () => {
    const ask = (...kubelets: readonly string[]) =>
      pass("release", () => nodeList(kubelets.map((kubelet) => ({ kubelet }))), { limitSeconds, version: "1.37.0" });
    await ask("v1.37.0", "v1.37.1");
    await assert.rejects(ask("v1.37.0", "v1.36.4"), /node-1 runs 1\.36\.4: update without --target/);
    await assert.rejects(ask(), /no control-plane node says its release/);
  });
});

describe("an update of a group that its cloud refuses", () => {
  const tags = (count: number, value = "a", from = 0) =>
    Array.from({ length: count }, (_, index) => ({ key: `k${index + from}`, value, propagateAtLaunch: true }));
  const sized = (name: string, capacity = 2) => ({ name, capacity });
  const rows: readonly (readonly [typeof tagRefusal, object, object, RegExp?])[] = [
    [tagRefusal, tags(50), tags(50)],
    [tagRefusal, tags(1), tags(26)],
    [tagRefusal, tags(0), tags(26), /26 tags .* 25; .* in two updates/],
    [tagRefusal, tags(30), tags(30, "b"), /30 tags/],
    [tagRefusal, tags(26), tags(0), /26 tags/],
    [tagRefusal, tags(25), tags(25, "a", 25)],
    [sizeRefusal, sized("Standard_D2s_v3"), sized("Standard_D2s_v5")],
    [sizeRefusal, sized("Standard_D2s_v6"), sized("Standard_E4ds_v7")],
    [
      sizeRefusal,
      sized("Standard_B2ms"),
      sized("Standard_D2s_v6"),
      /a-pool: .*Standard_D2s_v6.* NVMe.* pool of another name/,
    ],
    [sizeRefusal, sized("Standard_L8s_v4"), sized("Standard_L8s_v3"), /Standard_L8s_v3.* SCSI/],
    [sizeRefusal, sized("Standard_D2s_v6"), {}],
    // Without machines nothing must be deallocated.
    [sizeRefusal, sized("Standard_D2s_v5", 0), sized("Standard_D2s_v6")],
  ];
  for (const [refusal, old, now, says] of rows)
    it(`${JSON.stringify(now).slice(0, 80)}: ${says ?? "is sent"}`, async () => {
      const recorded = await withMocks(() => void refuseUpdate("refusal", "it", refusal));
      const update = runHook(recorded, "refusal", { name: "a-pool", oldInputs: { it: old }, newInputs: { it: now } });
      await (says === undefined ? update : assert.rejects(update, says));
    });

  it("is refused by each group's hook, in a preview too", async () => {
    for (const [stack, type] of [
      ["aws-dev", "aws:autoscaling/group:Group"],
      ["azure-dev", "azure-native:compute:VirtualMachineScaleSet"],
    ] as const) {
      const { program, hooks } = await runConfig(stack, stackConfig(stack), "known-outputs");
      const groups = resourcesOfType(program, type);
      assert.notEqual(groups.length, 0);
      for (const { name, options } of groups) {
        const hook = `${name}-refused`;
        assert.ok(options.hooks.beforeUpdate?.includes(hook), name);
        assert.partialDeepStrictEqual(hooks.get(hook), { opts: { onDryRun: true } });
      }
    }
  });
});

describe("the guard of an autoscaled scale set's size", () => {
  /** An update that sends a size, while the pool has so many nodes. */
  const update = (capacity: unknown, nodes: number, status = 200, wanted = 0) =>
    pass(
      "size",
      (asked) =>
        asked === `/api/v1/nodes?labelSelector=fenestra.dev%2Fpool%3D${name}&limit=500`
          ? { ...nodeList(Array(nodes).fill({})), status }
          : pageAnswer({ [group]: { wanted, ready: 0, old: 0 } }),
      { limitSeconds, newInputs: { sku: { name: "Standard_D4s_v5", capacity } } },
    );

  it("refuses an update that would take machines in use away, joined or not, and says how to go on", async () => {
    await assert.rejects(
      update(0, 6),
      new RegExp(
        `pool ${name} has 6 machines, and this update would leave it 0, .* pulumi refresh --target 'urn:set'$`,
      ),
    );
    await assert.rejects(
      update(6, 6, 200, 9),
      new RegExp(`pool ${name} has 9 machines, and this update would leave it 6`),
    );
    await update(9, 6, 200, 9);
    await update(6, 6);
    await update(6, 2);
  });

  it("refuses what it cannot tell", async () => {
    await assert.rejects(
      update(6, 6, 503),
      /number of nodes in pool \w+ is not ready .* the API answers 503 to a list of the nodes of pool \w+/,
    );
    await assert.rejects(update(undefined, 0), /the size of pool \w+ cannot be read from its update/);
  });
});
