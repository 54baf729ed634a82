import { SecurityGroup } from "@pulumi/aws/ec2/securityGroup.js";
import { SecurityGroupEgressRule } from "@pulumi/aws/vpc/securityGroupEgressRule.js";
import { SecurityGroupIngressRule } from "@pulumi/aws/vpc/securityGroupIngressRule.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { clusterTag } from "./policyDocument.ts";
import {
  type GroupName,
  groupNames,
  type SecurityRule,
  type SecuritySettings,
  securityRules,
} from "./securityRules.ts";

export interface SecurityArgs {
  readonly spec: SecuritySettings & Pick<ClusterSpec, "name">;
  readonly vpcId: pulumi.Input<string>;
}

const descriptions: Readonly<Record<GroupName, string>> = {
  "control-plane": "Control-plane machines",
  workers: "Worker machines",
  "api-internal": "Internal load balancer of the Kubernetes API",
  "api-public": "Public load balancer of the Kubernetes API",
};

/**
 * Groups of machines. Only these carry the cluster's tag, and a machine is in one of them: the cloud controller refuses
 * an instance with two ("Multiple tagged security groups found", terraform-aws-modules/terraform-aws-eks#1810).
 */
const machineGroups: readonly GroupName[] = ["control-plane", "workers"];

/** Security groups and their rules, one for each purpose, from `securityRules`. */
export class Security extends pulumi.ComponentResource {
  readonly controlPlaneGroupId: pulumi.Output<string>;
  readonly workersGroupId: pulumi.Output<string>;
  readonly internalApiGroupId: pulumi.Output<string>;
  /** Only with a public endpoint. */
  readonly publicApiGroupId: pulumi.Output<string> | undefined;
  /** Without its rules a starting machine has no network access. */
  readonly rules: readonly pulumi.Resource[];

  readonly #name: string;
  readonly #groups = new Map<GroupName, SecurityGroup>();

  constructor(name: string, args: SecurityArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Security", name, {}, opts);
    this.#name = name;
    for (const group of groupNames(args.spec)) this.#groups.set(group, this.#makeGroup(group, args));
    this.rules = securityRules(args.spec).map((rule) => this.#makeRule(rule));
    this.controlPlaneGroupId = this.#idOf("control-plane");
    this.workersGroupId = this.#idOf("workers");
    this.internalApiGroupId = this.#idOf("api-internal");
    this.publicApiGroupId = args.spec.publicAccess === undefined ? undefined : this.#idOf("api-public");
    this.registerOutputs({ controlPlaneGroupId: this.controlPlaneGroupId, workersGroupId: this.workersGroupId });
  }

  #makeGroup(group: GroupName, { spec, vpcId }: SecurityArgs): SecurityGroup {
    return new SecurityGroup(
      `${this.#name}-${group}`,
      {
        vpcId,
        description: descriptions[group],
        tags: {
          Name: `${this.#name}-${group}`,
          ...(machineGroups.includes(group) ? { [clusterTag(spec.name)]: "owned" } : {}),
        },
      },
      // A changed description would replace the group, which cannot be deleted while a pool's machines are in it.
      { parent: this, ignoreChanges: ["description"] },
    );
  }

  #makeRule(rule: SecurityRule): pulumi.Resource {
    const name = `${this.#name}-${rule.name}`;
    const args = {
      securityGroupId: this.#idOf(rule.group),
      description: rule.purpose,
      ipProtocol: rule.protocol === "all" ? "-1" : rule.protocol,
      ...(rule.ports === undefined ? {} : { fromPort: rule.ports[0], toPort: rule.ports[1] }),
      ...("cidr" in rule.peer
        ? { cidrIpv4: rule.peer.cidr }
        : { referencedSecurityGroupId: this.#idOf(rule.peer.group) }),
      tags: { Name: name },
    };
    return rule.direction === "ingress"
      ? new SecurityGroupIngressRule(name, args, { parent: this })
      : new SecurityGroupEgressRule(name, args, { parent: this });
  }

  #idOf(group: GroupName): pulumi.Output<string> {
    const made = this.#groups.get(group);
    if (made === undefined) throw new RangeError(`there is no security group ${group}`);
    return made.id;
  }
}
