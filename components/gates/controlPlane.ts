import * as pulumi from "@pulumi/pulumi";
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

/** A machine of the control plane: which it is, the subnet of its zone, and the gate before it. */
export interface MemberArgs {
  readonly member: ControlPlaneMember;
  readonly subnetId: pulumi.Input<string>;
  readonly gate: GateBefore;
}

/** What `ControlPlane` is made from. */
export interface ControlPlaneArgs {
  readonly spec: Pick<ClusterSpec, "cloud" | "kubernetes" | "controlPlane" | "serviceAccountKeys" | "secretsEncryption">;
  /** API client of the deployer, for health checks. */
  readonly api: pulumi.Input<ApiClient>;
  /** Control-plane subnets in the order of the zones. */
  readonly subnetIds: readonly pulumi.Input<string>[];
  /** What must exist before the API can be reached: listeners and targets, load balancers and the name. */
  readonly reachable: readonly pulumi.Resource[];
  /** Makes the machine of a member behind the gate. */
  readonly makeMachine: (name: string, args: MemberArgs, opts: pulumi.ComponentResourceOptions) => ChainMachine;
}

/**
 * The control plane: equal machines in a chain, the same on both clouds. Before each is a gate that refuses to replace it while another one
 * is unhealthy; behind each is one that, after a replacement, waits until it is a healthy etcd member. So two are never down at the same
 * time, and the first creation waits only at the last gate.
 */
export class ControlPlane extends pulumi.ComponentResource {
  /** Open when the API answers; pools and everything in the cluster depend on it. */
  readonly apiGate: pulumi.Resource;

  constructor(name: string, args: ControlPlaneArgs, opts?: pulumi.ComponentResourceOptions) {
    super(`fenestra:${args.spec.cloud}:ControlPlane`, name, {}, opts);
    const { spec, api, subnetIds, reachable } = args;
    const { members } = spec.controlPlane;
    const { version } = spec.kubernetes;
    const machines: ChainMachine[] = [];
    let last: pulumi.Resource = changeGuard(`${name}-upgrade`, { version, replicas: members.length }, { parent: this });
    for (const member of members) {
      const { index } = member;
      const subnetId = subnetIds[member.zoneIndex];
      if (subnetId === undefined) throw new RangeError(`there is no control-plane subnet in zone ${member.zone}`);
      const before = { parent: this, dependsOn: [last, ...reachable] };
      const gate: GateBefore = (fingerprint) =>
        peersGate(`${name}-before-${index}`, { fingerprint, member, members, version, api }, before);
      const machine = args.makeMachine(`${name}-${index}`, { member, subnetId, gate }, { parent: this });
      last = memberGate(
        `${name}-gate-${index}`,
        { machine: machine.instanceId, node: machine.node, api },
        { parent: this, dependsOn: [...machine.ready, ...reachable] },
      );
      machines.push(machine);
    }
    const instanceIds = machines.map(({ instanceId }) => instanceId);
    this.apiGate = apiGate(
      `${name}-api`,
      { machines: [...instanceIds], members: machines.map(({ node }) => node), api },
      { parent: this, dependsOn: [last, ...reachable] },
    );
    reachedGuard(`${name}-reached`, reachedOf(spec), { parent: this, dependsOn: [this.apiGate] });
    this.registerOutputs({ instanceIds });
  }
}
