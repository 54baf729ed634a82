import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ports } from "../model/ports.ts";
import { type MachineGroup, machineTraffic } from "../model/traffic.ts";

export type GroupName = MachineGroup | "api-internal" | "api-public";

export type SecuritySettings = Pick<ClusterSpec, "network" | "publicAccess" | "privateAccess" | "addons" | "kubernetes">;

export interface SecurityRule {
  /** Name, unique. */
  readonly name: string;
  readonly direction: "ingress" | "egress";
  readonly group: GroupName;
  /** Other end: a group or a network. */
  readonly peer: { readonly group: GroupName } | { readonly cidr: string };
  readonly protocol: "tcp" | "udp" | "all";
  /** First and last port; none for all protocols. */
  readonly ports?: readonly [from: number, to: number];
  readonly purpose: string;
}

/** Groups of a cluster; the public one only with a public endpoint. */
export function groupNames(spec: SecuritySettings): readonly GroupName[] {
  return ["control-plane", "workers", "api-internal", ...(spec.publicAccess === undefined ? [] : ["api-public" as const])];
}

/**
 * Every rule of a cluster. Nothing opens SSH, RDP or WinRM: people log in by Session Manager. The cloud controller adds the rules of
 * Services of type LoadBalancer to the workers' group.
 */
export function securityRules(spec: SecuritySettings): readonly SecurityRule[] {
  const api = [ports.api, ports.api] as const;
  const controlPlane = { group: "control-plane" } as const;
  const workers = { group: "workers" } as const;
  const anywhere = { cidr: "0.0.0.0/0" } as const;
  return [
    // The network's ranges and not the groups of the nodes: whether a group counts as source behind a balancer depends on its attributes.
    ...spec.network.cidrs.map(
      (cidr, index): SecurityRule => ({
        name: index === 0 ? "api-internal-from-network" : `api-internal-from-${cidr.replaceAll(/[./]/g, "-")}`,
        direction: "ingress",
        group: "api-internal",
        peer: { cidr },
        protocol: "tcp",
        ports: api,
        purpose: "Machines to the Kubernetes API",
      }),
    ),
    ...(spec.privateAccess ?? []).map(
      (cidr): SecurityRule => ({
        name: `api-internal-from-${cidr.replaceAll(/[./]/g, "-")}`,
        direction: "ingress",
        group: "api-internal",
        peer: { cidr },
        protocol: "tcp",
        ports: api,
        purpose: "Allowed connected network to the Kubernetes API",
      }),
    ),
    {
      name: "api-internal-to-control-plane",
      direction: "egress",
      group: "api-internal",
      peer: controlPlane,
      protocol: "tcp",
      ports: api,
      purpose: "Internal load balancer and its health checks to the API servers",
    },
    ...publicRules(spec),
    {
      name: "control-plane-api-from-internal",
      direction: "ingress",
      group: "control-plane",
      peer: { group: "api-internal" },
      protocol: "tcp",
      ports: api,
      purpose: "Internal load balancer and its health checks to the API servers",
    },
    {
      name: "control-plane-api-from-control-plane",
      direction: "ingress",
      group: "control-plane",
      peer: controlPlane,
      protocol: "tcp",
      ports: api,
      purpose: "Control-plane pods to the API by the address of its Service",
    },
    {
      name: "control-plane-api-from-workers",
      direction: "ingress",
      group: "control-plane",
      peer: workers,
      protocol: "tcp",
      ports: api,
      purpose: "Pods to the API by the address of its Service",
    },
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
    {
      name: "control-plane-out",
      direction: "egress",
      group: "control-plane",
      peer: anywhere,
      protocol: "all",
      purpose: "Downloads, AWS, other machines; a mirror may listen on any port",
    },
    {
      name: "workers-out",
      direction: "egress",
      group: "workers",
      peer: anywhere,
      protocol: "all",
      purpose: "Downloads, AWS, other machines, and whatever the pods call",
    },
  ];
}

function publicRules(spec: SecuritySettings): readonly SecurityRule[] {
  if (spec.publicAccess === undefined) return [];
  const api = [ports.api, ports.api] as const;
  return [
    ...spec.publicAccess.map(
      (cidr): SecurityRule => ({
        name: `api-public-from-${cidr.replaceAll(/[./]/g, "-")}`,
        direction: "ingress",
        group: "api-public",
        peer: { cidr },
        protocol: "tcp",
        ports: api,
        purpose: "Allowed network to the Kubernetes API",
      }),
    ),
    {
      name: "api-public-to-control-plane",
      direction: "egress",
      group: "api-public",
      peer: { group: "control-plane" },
      protocol: "tcp",
      ports: api,
      purpose: "Public load balancer and its health checks to the API servers",
    },
    {
      name: "control-plane-api-from-public",
      direction: "ingress",
      group: "control-plane",
      peer: { group: "api-public" },
      protocol: "tcp",
      ports: api,
      purpose: "Public load balancer and its health checks to the API servers",
    },
  ];
}
