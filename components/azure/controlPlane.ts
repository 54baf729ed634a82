import * as pulumi from "@pulumi/pulumi";
import type { ApiClient } from "../gates/apiProbe.ts";
import { controlPlaneChain, type GateBefore } from "../gates/controlPlaneChain.ts";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import { ControlPlaneMachine, type ControlPlaneMachineArgs } from "./controlPlaneMachine.ts";

/** What each machine gets, and what their chain needs besides. */
export interface ControlPlaneArgs extends Omit<ControlPlaneMachineArgs, "member" | "subnetId" | "gate"> {
  /** API client of the deployer, for health checks. */
  readonly api: pulumi.Input<ApiClient>;
  /** Control-plane subnets in the order of the zones. */
  readonly subnetIds: readonly pulumi.Input<string>[];
  /** What must exist before the API can be reached: load balancers and the name. */
  readonly reachable: readonly pulumi.Resource[];
}

/** The control plane: equal machines in a chain of gates (`controlPlaneChain`). */
export class ControlPlane extends pulumi.ComponentResource {
  /** Unique ids of the machines; a replaced machine has a new one, while its node keeps the name. */
  readonly instanceIds: readonly pulumi.Output<string>[];
  /** Open when the API answers; pools and everything in the cluster depend on it. */
  readonly apiGate: pulumi.Resource;

  readonly #name: string;
  readonly #args: ControlPlaneArgs;

  constructor(name: string, args: ControlPlaneArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:ControlPlane", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const chain = controlPlaneChain(name, { ...args, makeMachine: this.#makeMachine.bind(this) }, this);
    this.instanceIds = chain.instanceIds;
    this.apiGate = chain.apiGate;
    this.registerOutputs({ instanceIds: this.instanceIds });
  }

  #makeMachine(member: ControlPlaneMember, gate: GateBefore): ControlPlaneMachine {
    const { subnetIds, ...shared } = this.#args;
    const subnetId = subnetIds[member.zoneIndex];
    if (subnetId === undefined) throw new RangeError(`there is no control-plane subnet in zone ${member.zone}`);
    return new ControlPlaneMachine(`${this.#name}-${member.index}`, { ...shared, member, subnetId, gate }, { parent: this });
  }
}
