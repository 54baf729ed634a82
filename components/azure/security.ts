import { ApplicationSecurityGroup } from "@pulumi/azure-native/network/applicationSecurityGroup.js";
import { NetworkSecurityGroup } from "@pulumi/azure-native/network/networkSecurityGroup.js";
import { SecurityRule as AzureSecurityRule } from "@pulumi/azure-native/network/securityRule.js";
import * as pulumi from "@pulumi/pulumi";
import { outermost } from "../model/cidr.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { nodePorts, type PortRange, ports } from "../model/ports.ts";
import { type MachineGroup, machineTraffic } from "../model/traffic.ts";
import { inResourceGroup, type ResourceGroupContext } from "./roles.ts";

interface SecurityArgs {
  readonly spec: SecuritySettings & Pick<ClusterSpec, "name">;
  readonly resourceGroup: ResourceGroupContext;
}

export interface GroupIds {
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
  readonly controlPlane: GroupIds;
  readonly workers: GroupIds;
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

  #idsOf(group: GroupName): GroupIds {
    const { rules, members } = this.#groups[group];
    return { securityGroupId: rules.id, applicationGroupId: members.id };
  }
}

/** Each is a security group, which holds the rules, and an application security group, their target. */
type GroupName = MachineGroup;

type SecuritySettings = Pick<ClusterSpec, "network" | "publicAccess" | "privateAccess" | "addons" | "kubernetes">;

/**
 * An inbound rule with one purpose. Outbound traffic is not restricted: Azure's default rules allow the network and the
 * internet.
 */
interface SecurityRule {
  /** Unique. */
  readonly name: string;
  /** The group that holds the rule and is its target. */
  readonly group: GroupName;
  /** The other end; a service tag is one of Azure's. */
  readonly peer: { readonly group: GroupName } | { readonly cidrs: readonly string[] } | { readonly tag: string };
  readonly protocol: "Tcp" | "Udp" | "*";
  /** Ports and ranges, such as `30000-32767`; or `*` alone for all. */
  readonly ports: readonly string[];
  readonly access: "Allow" | "Deny";
  /** 100 to 499, the lowest wins; fixed, so that a new rule changes no other. The cloud controller owns 500 to 4095. */
  readonly priority: number;
  readonly purpose: string;
}

/** The highest of ours (kubernetes-sigs/cloud-provider-azure: pkg/provider/securitygroup begins at 500). */
const lastPriority = 499;

/** Priorities of traffic between machines, by rule name without its group. Nothing refuses NodePorts. */
const trafficPriorities: Readonly<Record<string, number>> = {
  etcd: 130,
  "kubelet-from-control-plane": 140,
  "kubelet-from-workers": 150,
  "overlay-from-control-plane": 160,
  "overlay-from-workers": 170,
  "node-exporter-from-control-plane": 180,
  "node-exporter-from-workers": 190,
  "windows-exporter-from-control-plane": 200,
  "windows-exporter-from-workers": 210,
  "pods-from-control-plane": 230,
  "pods-from-workers": 240,
  "kube-proxy-metrics-from-control-plane": 250,
  "kube-proxy-metrics-from-workers": 260,
  "controllers-from-control-plane": 270,
  "controllers-from-workers": 280,
  "etcd-metrics-from-control-plane": 290,
  "etcd-metrics-from-workers": 300,
};

const protocols = { tcp: "Tcp", udp: "Udp", all: "*" } as const;

const probes = { tag: "AzureLoadBalancer" } as const;
const anybody = { tag: "*" } as const;

/**
 * Every rule of a cluster. Nothing opens SSH, RDP or WinRM. Each group ends with a deny rule, because Azure's default
 * rules allow the whole network. Destination is the application security group, the machines' own addresses: traffic to
 * a Service of type LoadBalancer has the frontend's, which the cloud controller's rules filter; where it disables the
 * floating IP, it arrives at a NodePort, which the deny rule leaves out.
 */
export function securityRules(spec: SecuritySettings): readonly SecurityRule[] {
  return [...controlPlaneRules(spec), ...workersRules(spec)];
}

function controlPlaneRules(spec: SecuritySettings): readonly SecurityRule[] {
  return [
    api(100, "control-plane-api-from-probes", probes, "Health probes of the load balancers to the API servers"),
    api(
      110,
      "control-plane-api-from-network",
      network(spec),
      "Callers inside the network to the Kubernetes API; a load balancer of Azure keeps their addresses",
    ),
    ...(spec.publicAccess === undefined
      ? []
      : [
          api(
            120,
            "control-plane-api-from-allowed",
            { cidrs: spec.publicAccess },
            "Allowed networks to the Kubernetes API",
          ),
        ]),
    ...traffic(spec, "control-plane"),
    // Rules cannot tell pods' addresses from machines' where machines own both.
    ...(machineTraffic(spec).some(({ protocol }) => protocol === "all")
      ? [
          {
            name: "control-plane-etcd-closed",
            group: "control-plane",
            peer: { group: "workers" },
            protocol: "Tcp",
            ports: [text({ first: ports.etcdClient, last: ports.etcdPeer })],
            access: "Deny",
            priority: 220,
            purpose:
              "Workers and their pods have no business with etcd, although they reach the pods of these machines",
          } as const,
        ]
      : []),
    {
      name: "control-plane-closed",
      group: "control-plane",
      peer: anybody,
      protocol: "*",
      ports: ["*"],
      access: "Deny",
      priority: lastPriority,
      purpose: "Everything else",
    },
  ];
}

function workersRules(spec: SecuritySettings): readonly SecurityRule[] {
  return [
    {
      name: "workers-from-probes",
      group: "workers",
      peer: probes,
      protocol: "*",
      ports: ["*"],
      access: "Allow",
      priority: 100,
      purpose: "Health probes of the load balancers of Services; their ports are not known beforehand",
    },
    ...traffic(spec, "workers"),
    {
      name: "workers-closed",
      group: "workers",
      peer: anybody,
      protocol: "*",
      ports: [`0-${nodePorts.first - 1}`, `${nodePorts.last + 1}-65535`],
      access: "Deny",
      priority: lastPriority,
      purpose: "Everything else but NodePorts, which the cloud controller opens and closes",
    },
  ];
}

function api(priority: number, name: string, peer: SecurityRule["peer"], purpose: string): SecurityRule {
  return {
    name,
    group: "control-plane",
    peer,
    protocol: "Tcp",
    ports: [String(ports.api)],
    access: "Allow",
    priority,
    purpose,
  };
}

/**
 * Who may call the API from inside: this network and those that the stack file names. Without any, and without a public
 * endpoint, also networks that are peered or come in by gateways. The tag may hold a default route that such a gateway
 * announces (Azure documentation, service tags), which beside a public endpoint could void the allow-list.
 */
function network({ publicAccess, privateAccess, network: { cidrs } }: SecuritySettings): SecurityRule["peer"] {
  if (privateAccess !== undefined) return { cidrs: [...cidrs, ...privateAccess] };
  return publicAccess === undefined ? { tag: "VirtualNetwork" } : { cidrs };
}

function traffic(spec: SecuritySettings, group: GroupName): readonly SecurityRule[] {
  return machineTraffic(spec)
    .filter(({ to, ports: range }) => to === group && range !== nodePorts)
    .map(({ name, from, protocol, ports: range, purpose }) => {
      const priority = trafficPriorities[name.slice(group.length + 1)];
      if (priority === undefined) throw new RangeError(`the rule ${name} has no priority`);
      return {
        name,
        group,
        peer: { group: from },
        protocol: protocols[protocol],
        ports: [protocol === "all" ? "*" : text(range)],
        access: "Allow",
        priority,
        purpose,
      };
    });
}

function text({ first, last }: PortRange): string {
  return first === last ? String(first) : `${first}-${last}`;
}
