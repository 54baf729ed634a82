import type { ClusterSpec } from "../model/clusterSpec.ts";
import { ports } from "../model/ports.ts";
import { type MachineGroup, machineTraffic } from "../model/traffic.ts";

export type GroupName = MachineGroup | "api-internal" | "api-public";

export type SecuritySettings = Pick<
  ClusterSpec,
  "network" | "publicAccess" | "privateAccess" | "addons" | "kubernetes"
>;

export interface SecurityRule {
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
export function groupNames(spec: SecuritySettings): readonly GroupName[] {
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
  const controlPlane = { group: "control-plane" } as const;
  const anywhere = { cidr: "0.0.0.0/0" } as const;
  return [
    // The network's ranges: whether a group counts as source behind a balancer depends on its attributes.
    ...spec.network.cidrs.map((cidr, index) =>
      api(
        `api-internal-from-${index === 0 ? "network" : inName(cidr)}`,
        "ingress",
        "api-internal",
        { cidr },
        "Machines to the Kubernetes API",
      ),
    ),
    ...(spec.privateAccess ?? []).map((cidr) =>
      api(
        `api-internal-from-${inName(cidr)}`,
        "ingress",
        "api-internal",
        { cidr },
        "Allowed connected network to the Kubernetes API",
      ),
    ),
    api("api-internal-to-control-plane", "egress", "api-internal", controlPlane, toServers("Internal")),
    ...(spec.publicAccess === undefined ? [] : publicRules(spec.publicAccess)),
    api(
      "control-plane-api-from-internal",
      "ingress",
      "control-plane",
      { group: "api-internal" },
      toServers("Internal"),
    ),
    api(
      "control-plane-api-from-control-plane",
      "ingress",
      "control-plane",
      controlPlane,
      `Control-plane pods ${byService}`,
    ),
    api("control-plane-api-from-workers", "ingress", "control-plane", { group: "workers" }, `Pods ${byService}`),
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
    api("control-plane-api-from-public", "ingress", "control-plane", { group: "api-public" }, toServers("Public")),
  ];
}

const toServers = (balancer: string): string => `${balancer} load balancer and its health checks to the API servers`;
const byService = "to the API by the address of its Service";
const inName = (cidr: string): string => cidr.replaceAll(/[./]/g, "-");

function api(
  name: string,
  direction: SecurityRule["direction"],
  group: GroupName,
  peer: SecurityRule["peer"],
  purpose: string,
): SecurityRule {
  return { name, direction, group, peer, protocol: "tcp", ports: [ports.api, ports.api], purpose };
}
