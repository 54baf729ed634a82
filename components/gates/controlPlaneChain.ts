import type * as pulumi from "@pulumi/pulumi";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { reachedOf } from "../model/upgrade.ts";
import { apiGate } from "./apiGate.ts";
import type { ApiClient, MemberNode } from "./apiProbe.ts";
import { changeGuard, reachedGuard } from "./changeGuard.ts";
import { memberGate } from "./memberGate.ts";
import { peersGate } from "./peersGate.ts";

/** Makes the gate that a machine waits for. The fingerprint changes when, and only when, the machine is going to be replaced. */
export type GateBefore = (fingerprint: pulumi.Input<string>) => pulumi.Resource;

interface ChainMachine {
  /** Changes when, and only when, the machine was replaced. */
  readonly instanceId: pulumi.Output<string>;
  readonly node: pulumi.Output<MemberNode>;
  readonly ready: readonly pulumi.Resource[];
}

/** What `controlPlaneChain` is made from. */
export interface ChainArgs {
  readonly spec: Pick<ClusterSpec, "kubernetes" | "controlPlane" | "serviceAccountKeys" | "secretsEncryption">;
  /** API client of the deployer, for health checks. */
  readonly api: pulumi.Input<ApiClient>;
  /** What must exist before the API can be reached: listeners and targets. */
  readonly reachable: readonly pulumi.Resource[];
  /** Makes the machine of a member behind the gate. */
  readonly makeMachine: (member: ControlPlaneMember, before: GateBefore) => ChainMachine;
}

export interface ControlPlaneChain {
  readonly instanceIds: readonly pulumi.Output<string>[];
  readonly apiGate: pulumi.Resource;
}

/**
 * The machines of a control plane in a chain, the same on both clouds. Before each is a gate that refuses to replace it while another one
 * is unhealthy; behind each is one that, after a replacement, waits until it is a healthy etcd member. So two are never down at the same
 * time, and the first creation waits only at the last gate.
 */
export function controlPlaneChain(name: string, args: ChainArgs, parent: pulumi.Resource): ControlPlaneChain {
  const { spec, api, reachable } = args;
  const { members } = spec.controlPlane;
  const { version } = spec.kubernetes;
  const machines: ChainMachine[] = [];
  let last: pulumi.Resource = changeGuard(`${name}-upgrade`, { version, replicas: members.length }, { parent });
  for (const member of members) {
    const { index } = member;
    const before = last;
    const machine = args.makeMachine(member, (fingerprint) =>
      peersGate(`${name}-before-${index}`, { fingerprint, member, members, version, api }, { parent, dependsOn: [before, ...reachable] }),
    );
    last = memberGate(
      `${name}-gate-${index}`,
      { machine: machine.instanceId, node: machine.node, api },
      { parent, dependsOn: [...machine.ready, ...reachable] },
    );
    machines.push(machine);
  }
  const instanceIds = machines.map(({ instanceId }) => instanceId);
  const gate = apiGate(
    `${name}-api`,
    { machines: [...instanceIds], members: machines.map(({ node }) => node), api },
    { parent, dependsOn: [last, ...reachable] },
  );
  reachedGuard(`${name}-reached`, reachedOf(spec), { parent, dependsOn: [gate] });
  return { instanceIds, apiGate: gate };
}
