import { ApplicationSecurityGroup } from "@pulumi/azure-native/network/applicationSecurityGroup.js";
import { NetworkSecurityGroup } from "@pulumi/azure-native/network/networkSecurityGroup.js";
import { SecurityRule as AzureSecurityRule } from "@pulumi/azure-native/network/securityRule.js";
import * as pulumi from "@pulumi/pulumi";
import { outermost } from "../model/cidr.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { inResourceGroup, type ResourceGroupContext } from "./resourceGroup.ts";
import { type GroupName, type SecurityRule, type SecuritySettings, securityRules } from "./securityRules.ts";

export interface SecurityArgs {
  readonly spec: SecuritySettings & Pick<ClusterSpec, "name">;
  readonly resourceGroup: ResourceGroupContext;
}

export interface MachineGroup {
  /** Id of the security group with the rules. */
  readonly securityGroupId: pulumi.Input<string>;
  /** Id of the application security group, by which rules refer to the machine. */
  readonly applicationGroupId: pulumi.Input<string>;
}

/** Name of a group's security group; that of the workers is in the cloud controller's configuration. */
export function securityGroupName(cluster: string, group: GroupName): string {
  return `${cluster}-${group}`;
}

/**
 * Security groups and their rules, one for each purpose, from `securityRules`. Rules are separate resources: an update
 * of a group would delete those of the cloud controller.
 */
export class Security extends pulumi.ComponentResource {
  readonly controlPlane: MachineGroup;
  readonly workers: MachineGroup;
  readonly ids: Readonly<Record<"controlPlane" | "workers", pulumi.Output<string>>>;
  /** Without its rules a starting machine has no network access. */
  readonly rules: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #args: SecurityArgs;
  readonly #groups: Readonly<Record<GroupName, { rules: NetworkSecurityGroup; members: ApplicationSecurityGroup }>>;

  constructor(name: string, args: SecurityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:azure:Security", name, {}, opts);
    this.#name = name;
    this.#args = args;
    this.#groups = { "control-plane": this.#makeGroup("control-plane"), workers: this.#makeGroup("workers") };
    const last = new Map<GroupName, AzureSecurityRule>();
    this.rules = securityRules(args.spec).map((rule) => {
      const made = this.#makeRule(rule, last.get(rule.group));
      last.set(rule.group, made);
      return made;
    });
    this.controlPlane = this.#idsOf("control-plane");
    this.workers = this.#idsOf("workers");
    this.ids = { controlPlane: this.#groups["control-plane"].rules.id, workers: this.#groups.workers.rules.id };
    this.registerOutputs({
      controlPlaneGroupId: this.controlPlane.securityGroupId,
      workersGroupId: this.workers.securityGroupId,
    });
  }

  #makeGroup(group: GroupName) {
    const { spec, resourceGroup } = this.#args;
    const name = securityGroupName(spec.name, group);
    return {
      rules: new NetworkSecurityGroup(
        `${this.#name}-${group}`,
        { ...inResourceGroup(resourceGroup), networkSecurityGroupName: name },
        { parent: this },
      ),
      members: new ApplicationSecurityGroup(
        `${this.#name}-${group}`,
        { ...inResourceGroup(resourceGroup), applicationSecurityGroupName: name },
        { parent: this },
      ),
    };
  }

  #makeRule(rule: SecurityRule, before: AzureSecurityRule | undefined): AzureSecurityRule {
    const { rules, members } = this.#groups[rule.group];
    return new AzureSecurityRule(
      `${this.#name}-${rule.name}`,
      {
        resourceGroupName: this.#args.resourceGroup.name,
        networkSecurityGroupName: rules.name,
        securityRuleName: rule.name,
        description: rule.purpose,
        direction: "Inbound",
        access: rule.access,
        priority: rule.priority,
        protocol: rule.protocol,
        ...this.#source(rule.peer),
        sourcePortRange: "*",
        destinationApplicationSecurityGroups: [{ id: members.id }],
        ...(rule.ports.length === 1
          ? { destinationPortRange: rule.ports[0] ?? "*" }
          : { destinationPortRanges: [...rule.ports] }),
      },
      // Azure writes one rule of a group at a time; others get 429 RetryableErrorDueToAnotherOperation.
      { parent: this, dependsOn: before ?? [] },
    );
  }

  #source(peer: SecurityRule["peer"]) {
    if ("tag" in peer) return { sourceAddressPrefix: peer.tag };
    // Azure refuses overlapping prefixes (kubernetes-sigs/cloud-provider-azure#6775:
    // OverlappingSubnetsNotPermittedInSecurityRule).
    if ("cidrs" in peer) return { sourceAddressPrefixes: [...outermost(peer.cidrs)] };
    return { sourceApplicationSecurityGroups: [{ id: this.#groups[peer.group].members.id }] };
  }

  #idsOf(group: GroupName): MachineGroup {
    const { rules, members } = this.#groups[group];
    return { securityGroupId: rules.id, applicationGroupId: members.id };
  }
}
