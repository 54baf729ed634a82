import * as pulumi from "@pulumi/pulumi";
import { apiGate } from "../gates/apiGate.ts";
import type { ApiClient } from "../gates/apiProbe.ts";
import { memberGate } from "../gates/memberGate.ts";
import { upgradeGuard } from "../gates/upgradeGuard.ts";
import type { ApiEndpoint } from "../machine/cloudAccess.ts";
import type { ControlPlaneMember } from "../model/addressPlan.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ControlPlaneMachine } from "./controlPlaneMachine.ts";
import type { MachineScripts } from "./scripts.ts";

/** Arguments of `ControlPlane`. */
export interface ControlPlaneArgs {
  readonly spec: ClusterSpec;
  /** Names of the API; they go into the certificates. */
  readonly endpoint: pulumi.Input<ApiEndpoint>;
  /** How the deployer asks the API whether it is well. */
  readonly api: pulumi.Input<ApiClient>;
  /** Control-plane subnets in the order of the zones. */
  readonly subnetIds: readonly pulumi.Input<string>[];
  readonly groupId: pulumi.Input<string>;
  readonly profileArn: pulumi.Input<string>;
  /** ARN of the key of the cluster's parameters. */
  readonly secretsKeyArn: pulumi.Input<string>;
  /** Bucket for etcd snapshots. */
  readonly snapshotBucket: pulumi.Input<string>;
  /** Where the scripts of the machines lie. */
  readonly scripts: MachineScripts;
  /** What must exist before a machine boots: secrets, rights, a way out. */
  readonly after: readonly pulumi.Resource[];
  /** What must exist before the API can be reached: listeners and targets. */
  readonly reachable: readonly pulumi.Resource[];
}

/**
 * The control plane: equal machines in a chain. Each is followed by a gate that, when the machine was replaced, waits until it is a healthy
 * etcd member; only then the next is touched. So never two are away at the same time, and the first creation waits for nothing.
 */
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
    const { kubernetes, controlPlane } = args.spec;
    const guard = upgradeGuard(
      `${name}-upgrade`,
      { version: kubernetes.version, replicas: controlPlane.members.length },
      { parent: this },
    );
    const chain = this.#makeChain(guard);
    this.instanceIds = chain.ids;
    this.apiGate = apiGate(
      `${name}-api`,
      { machines: [...chain.ids], api: args.api },
      { parent: this, dependsOn: [chain.last, ...args.reachable] },
    );
    this.registerOutputs({ instanceIds: this.instanceIds });
  }

  #makeChain(guard: pulumi.Resource): {
    readonly ids: readonly pulumi.Output<string>[];
    readonly last: pulumi.Resource;
  } {
    const ids: pulumi.Output<string>[] = [];
    let last = guard;
    for (const member of this.#args.spec.controlPlane.members) {
      const machine = this.#makeMachine(member, last);
      last = memberGate(
        `${this.#name}-gate-${member.index}`,
        { machine: machine.instanceId, api: this.#args.api },
        { parent: this, dependsOn: [...machine.ready, ...this.#args.reachable] },
      );
      ids.push(machine.instanceId);
    }
    return { ids, last };
  }

  #makeMachine(member: ControlPlaneMember, before: pulumi.Resource): ControlPlaneMachine {
    const { spec, endpoint, subnetIds, groupId, profileArn, secretsKeyArn, snapshotBucket, scripts, after } =
      this.#args;
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
        after: [...after, before],
      },
      { parent: this },
    );
  }
}
