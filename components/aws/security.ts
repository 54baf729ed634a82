import { SecurityGroup } from "@pulumi/aws/ec2/securityGroup.js";
import { SecurityGroupEgressRule } from "@pulumi/aws/vpc/securityGroupEgressRule.js";
import { SecurityGroupIngressRule } from "@pulumi/aws/vpc/securityGroupIngressRule.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ports } from "../model/ports.ts";
import { type MachineGroup, machineTraffic } from "../model/traffic.ts";
import { clusterTag } from "./policyDocument.ts";

interface SecurityArgs {
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
          ...(machineGroups.includes(group) && { [clusterTag(spec.name)]: "owned" }),
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
      ...(rule.ports !== undefined && { fromPort: rule.ports[0], toPort: rule.ports[1] }),
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

type GroupName = MachineGroup | "api-internal" | "api-public";

type SecuritySettings = Pick<ClusterSpec, "network" | "publicAccess" | "privateAccess" | "addons" | "kubernetes">;

interface SecurityRule {
  /** Unique. */
  readonly name: string;
  readonly direction: "ingress" | "egress";
  readonly group: GroupName;
  readonly peer: { readonly group: GroupName } | { readonly cidr: string };
  readonly protocol: "tcp" | "udp" | "all";
  /** First and last; none for all protocols. */
  readonly ports?: readonly [from: number, to: number];
  readonly purpose: string;
}

/** Groups of a cluster; the public one exists only with a public endpoint. */
function groupNames(spec: SecuritySettings): readonly GroupName[] {
  return [
    "control-plane",
    "workers",
    "api-internal",
    ...(spec.publicAccess === undefined ? [] : ["api-public" as const]),
  ];
}

/**
 * Every rule of a cluster. Nothing opens SSH, RDP or WinRM: people use Session Manager. The cloud controller adds
 * Services' rules to the workers' group.
 */
export function securityRules(spec: SecuritySettings): readonly SecurityRule[] {
  return [
    ...internalRules(spec),
    ...(spec.publicAccess === undefined ? [] : publicRules(spec.publicAccess)),
    fromGroup("api-internal", "internal", toServers("Internal")),
    fromGroup("control-plane", "control-plane", `Control-plane pods ${byService}`),
    fromGroup("workers", "workers", `Pods ${byService}`),
    ...machineTraffic(spec).map(
      ({ name, from, to, protocol, ports: { first, last }, purpose }): SecurityRule => ({
        name,
        direction: "ingress",
        group: to,
        peer: { group: from },
        protocol,
        ports: [first, last],
        purpose,
      }),
    ),
    everythingOut("control-plane", "Downloads, AWS, other machines; a mirror may listen on any port"),
    everythingOut("workers", "Downloads, AWS, other machines, and whatever the pods call"),
  ];
}

const everythingOut = (group: GroupName, purpose: string): SecurityRule => ({
  name: `${group}-out`,
  direction: "egress",
  group,
  peer: { cidr: "0.0.0.0/0" },
  protocol: "all",
  purpose,
});

/** The network's ranges: whether a group counts as source behind a balancer depends on its attributes. */
function internalRules({ network, privateAccess = [] }: SecuritySettings): readonly SecurityRule[] {
  const from = (name: string, cidr: string, purpose: string): SecurityRule =>
    api(`api-internal-from-${name}`, "ingress", "api-internal", { cidr }, purpose);
  return [
    ...network.cidrs.map((cidr, index) =>
      from(index === 0 ? "network" : inName(cidr), cidr, "Machines to the Kubernetes API"),
    ),
    ...privateAccess.map((cidr) => from(inName(cidr), cidr, "Allowed connected network to the Kubernetes API")),
    api("api-internal-to-control-plane", "egress", "api-internal", { group: "control-plane" }, toServers("Internal")),
  ];
}

function publicRules(networks: readonly string[]): readonly SecurityRule[] {
  return [
    ...networks.map((cidr) =>
      api(
        `api-public-from-${inName(cidr)}`,
        "ingress",
        "api-public",
        { cidr },
        "Allowed network to the Kubernetes API",
      ),
    ),
    api("api-public-to-control-plane", "egress", "api-public", { group: "control-plane" }, toServers("Public")),
    fromGroup("api-public", "public", toServers("Public")),
  ];
}

const toServers = (balancer: string): string => `${balancer} load balancer and its health checks to the API servers`;
const byService = "to the API by the address of its Service";
const inName = (cidr: string): string => cidr.replaceAll(/[./]/g, "-");

/** From a group to the API servers. */
const fromGroup = (group: GroupName, name: string, purpose: string): SecurityRule =>
  api(`control-plane-api-from-${name}`, "ingress", "control-plane", { group }, purpose);

function api(
  name: string,
  direction: SecurityRule["direction"],
  group: GroupName,
  peer: SecurityRule["peer"],
  purpose: string,
): SecurityRule {
  return { name, direction, group, peer, protocol: "tcp", ports: [ports.api, ports.api], purpose };
}
