import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../../components/config/load.ts";
import { clusterSpec } from "../../components/spec/clusterSpec.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { plainRequest, type ResourceRequest } from "../../plan/program/request.ts";
import { runProgramWithHooks } from "../../plan/program/runProgram.ts";
import { nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { simulateCloud } from "../../rehearsal/clouds/clouds.ts";
import type { Release } from "../../rehearsal/cluster/cluster.ts";
import { withRelease } from "../../rehearsal/cluster/releases.ts";
import { Updates } from "../../rehearsal/cluster/update.ts";
import { stackConfig } from "../support/stacks.ts";

const entry = fileURLToPath(new URL("../../index.ts", import.meta.url));

function release(version: string): Release {
  const program = { path: "", version, origin: "cache" } as const;
  const kubernetes = { kubeadm: program, kubectl: program, kubelet: program, "kube-scheduler": program };
  const others = { etcd: program, etcdctl: program, etcdutl: program, kwok: program };
  const servers = { "kube-apiserver": program, "kube-controller-manager": program };
  return { programs: { ...kubernetes, ...servers, ...others }, wine: Promise.resolve("none") };
}

async function updates(stack: string) {
  const config = withRelease(stackConfig(stack), "1.36.3");
  const simulate = simulatedCloud(placeOf(config), "real");
  const { program } = await runProgramWithHooks({ entry, stack, config, mode: "known-outputs", simulate });
  const cloud = simulateCloud(program, clusterSpec(loadConfig(config)));
  return {
    cloud,
    updates: new Updates({
      stack,
      config,
      entry,
      program,
      simulate,
      cloud,
      decode: (machine) => ({ machine, payload: decodeUserData(machine.userData, cloud.objects(machine)) }),
      progress: { startedAt: 0, line: () => undefined },
    }),
  };
}

describe("a further update of a stack", function () {
  this.timeout(120_000);

  it("tells a machine that was replaced twice from both before it, also where its resource keeps its id", () => {
    const simulate = simulatedCloud(placeOf(stackConfig("azure-dev")), "fake");
    const machine = (customData: string): ResourceRequest => {
      const inputs = { resourceGroupName: "g", location: "l", vmName: "m", osProfile: { customData } };
      const request = plainRequest({ urn: "urn:m", type: "azure-native:compute:VirtualMachine", name: "m", inputs });
      return { ...request, options: { ...request.options, replaceOnChanges: ["osProfile.customData"] } };
    };
    const state = new Map<string, RecordedResource>();
    const made = ["a", "b", "a"].map((customData) => {
      const request = machine(customData);
      const answer = nextUpdate(simulate, state)(request);
      state.set(request.urn, { ...request, ...answer });
      return answer;
    });
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
    assert.equal(new Set(made.map(({ outputs }) => outputs.vmId)).size, 3);
  });

  for (const [stack, pool] of [["aws-prod", "win2022-a"] as const, ["azure-prod", "win22-1"] as const]) {
    it(`replaces control-plane machines one by one between gates, and then rolls the pools: ${stack}`, async () => {
      const { updates: of, cloud } = await updates(stack);
      assert.deepEqual((await of.begin(release("1.36.3"))).steps, []);
      const { steps, machines } = await of.begin(release("1.37.1"));
      const members = [0, 1, 2].flatMap((index) => [`before-${index}`, `${index}-instance`, `gate-${index}`]);
      const chain = ["upgrade", ...members, "api"].map((name) => `${stack}-control-plane-${name}`);
      assert.deepEqual(
        steps.filter((name) => chain.includes(name)),
        chain,
      );
      const rolled = [`${stack}-control-plane-api`, `${stack}-pool-${pool}-group`, `${stack}-in-pool-${pool}`];
      assert.deepEqual(
        steps.filter((name) => rolled.includes(name)),
        rolled,
      );
      // New machines of groups run beside old ones; those of the control plane come to the place of the old ones.
      const taken = new Set(cloud.machines.map(({ privateIp }) => privateIp));
      for (const { machine } of machines) assert.equal(taken.has(machine.privateIp), machine.group === undefined, machine.name);
    });
  }
});
