import * as pulumi from "@pulumi/pulumi";
import type { ApiClient } from "../gates/apiProbe.ts";
import { controlPlaneChain, type GateBefore } from "../gates/controlPlaneChain.ts";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import type { ControlPlaneSettings } from "../model/clusterSpec.ts";
import type { ServiceAccountTokens } from "../model/serviceAccountKeys.ts";
import { ControlPlaneMachine } from "./controlPlaneMachine.ts";
import type { MachineScripts } from "./scripts.ts";

export interface ControlPlaneArgs {
  readonly spec: ControlPlaneSettings;
  /** Names of the API; they go into the certificates. */
  readonly endpoint: pulumi.Input<ApiEndpoint>;
  /** API client of the deployer, for health checks. */
  readonly api: pulumi.Input<ApiClient>;
  /** Control-plane subnets in the order of the zones. */
  readonly subnetIds: readonly pulumi.Input<string>[];
  readonly groupId: pulumi.Input<string>;
  readonly profileArn: pulumi.Input<string>;
  /** ARN of the key of the cluster's parameters. */
  readonly secretsKeyArn: pulumi.Input<string>;
  /** Bucket for etcd snapshots. */
  readonly snapshotBucket: pulumi.Input<string>;
  /** Location of the machines' scripts in S3. */
  readonly scripts: MachineScripts;
  /** How tokens of service accounts are issued and checked; `undefined` for kubeadm's way. */
  readonly tokens: pulumi.Input<ServiceAccountTokens> | undefined;
  /** What must exist before a machine boots: secrets, rights, routes to the outside. */
  readonly after: readonly pulumi.Resource[];
  /** What must exist before the API can be reached: listeners and targets. */
  readonly reachable: readonly pulumi.Resource[];
}

/** The control plane: equal machines in a chain of gates (`controlPlaneChain`). */
export class ControlPlane extends pulumi.ComponentResource {
  /** Ids of the machines, which are also the names of their nodes. */
  readonly instanceIds: readonly pulumi.Output<string>[];
  /** Open when the API answers; pools and everything in the cluster depend on it. */
  readonly apiGate: pulumi.Resource;

  readonly #name: string;
  readonly #args: ControlPlaneArgs;

  constructor(name: string, args: ControlPlaneArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:ControlPlane", name, {}, opts);
    this.#name = name;
    this.#args = args;
    const chain = controlPlaneChain(name, { ...args, makeMachine: this.#makeMachine.bind(this) }, this);
    this.instanceIds = chain.instanceIds;
    this.apiGate = chain.apiGate;
    this.registerOutputs({ instanceIds: this.instanceIds });
  }

  #makeMachine(member: ControlPlaneMember, gate: GateBefore): ControlPlaneMachine {
    const { spec, endpoint, subnetIds, groupId, profileArn, secretsKeyArn, snapshotBucket, scripts, tokens, after } = this.#args;
    const subnetId = subnetIds[member.zoneIndex];
    if (subnetId === undefined) throw new RangeError(`there is no control-plane subnet in ${member.zone}`);
    return new ControlPlaneMachine(
      `${this.#name}-${member.index}`,
      {
        spec,
        member,
        endpoint,
        subnetId,
        groupId,
        profileArn,
        secretsKeyArn,
        snapshotBucket,
        scripts,
        tokens,
        after,
        gate,
      },
      { parent: this },
    );
  }
}
