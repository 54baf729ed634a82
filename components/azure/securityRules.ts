import { nodePorts } from "../machine/windows/system.ts";
import { apiPort, type ClusterSpec } from "../model/clusterSpec.ts";

/** The groups of machines of a cluster. Each is a security group, which holds the rules, and an application security group, their target. */
export type GroupName = "control-plane" | "workers";

/** One inbound rule with one purpose. What goes out is free: Azure's own rules allow the network and the internet. */
export interface SecurityRule {
  /** Name, unique. */
  readonly name: string;
  /** Group that the rule belongs to and that it is about. */
  readonly group: GroupName;
  /** Other end: a group, networks, or a service tag of Azure. */
  readonly peer: { readonly group: GroupName } | { readonly cidrs: readonly string[] } | { readonly tag: string };
  readonly protocol: "Tcp" | "Udp" | "*";
  /** Ports and ranges, `30000-32767`; `*` alone for all. */
  readonly ports: readonly string[];
  readonly access: "Allow" | "Deny";
  /** 100 to 499, the lowest wins; fixed, so that a new rule moves no other. The cloud controller owns 500 to 4095. */
  readonly priority: number;
  /** What it is for. */
  readonly purpose: string;
}

/** Highest priority number of our rules (kubernetes-sigs/cloud-provider-azure: pkg/provider/securitygroup begins at 500). */
export const lastPriority = 499;

/** Port of flannel's VXLAN, the one that Windows requires (microsoft/SDN, flannel `Port: 4789`). */
const vxlan = ["4789"] as const;
const kubelet = ["10250"] as const;
const etcd = ["2379-2380"] as const;
const api = [String(apiPort)] as const;

/** Tag of Azure's health probes. */
const probes = { tag: "AzureLoadBalancer" } as const;
const anybody = { tag: "*" } as const;
const controlPlane = { group: "control-plane" } as const;
const workers = { group: "workers" } as const;

/**
 * Every rule of a cluster. Nothing opens SSH, RDP or WinRM: people come in by Run Command or the serial console. Each group ends with a
 * refusal of its own, since Azure's rules let the whole network in. Destination is the application security group, that is the machines'
 * own addresses: traffic to a Service of type LoadBalancer has the frontend's address, passes our rules by, and is judged by those that
 * the cloud controller writes. Where a Service switches the floating address off, it arrives at a NodePort, which the refusal leaves out.
 */
export function securityRules(spec: ClusterSpec): readonly SecurityRule[] {
  const allow = (
    priority: number,
    name: string,
    group: GroupName,
    peer: SecurityRule["peer"],
    protocol: SecurityRule["protocol"],
    ports: readonly string[],
    purpose: string,
  ): SecurityRule => ({ name, group, peer, protocol, ports, access: "Allow", priority, purpose });
  return [
    allow(
      100,
      "control-plane-api-from-probes",
      "control-plane",
      probes,
      "Tcp",
      api,
      "Health probes of the load balancers to the API servers",
    ),
    allow(
      110,
      "control-plane-api-from-network",
      "control-plane",
      { cidrs: [spec.network.cidr] },
      "Tcp",
      api,
      "Machines to the Kubernetes API; a load balancer of Azure keeps their addresses",
    ),
    ...(spec.publicAccess === undefined
      ? []
      : [
          allow(
            120,
            "control-plane-api-from-allowed",
            "control-plane",
            { cidrs: spec.publicAccess },
            "Tcp",
            api,
            "Allowed networks to the Kubernetes API",
          ),
        ]),
    allow(130, "control-plane-etcd", "control-plane", controlPlane, "Tcp", etcd, "etcd members among each other"),
    allow(
      140,
      "control-plane-kubelet-from-control-plane",
      "control-plane",
      controlPlane,
      "Tcp",
      kubelet,
      "API servers to the kubelets of the control plane: logs, exec",
    ),
    allow(
      150,
      "control-plane-kubelet-from-workers",
      "control-plane",
      workers,
      "Tcp",
      kubelet,
      "Metrics collectors on workers to the kubelets of the control plane",
    ),
    ...overlay("control-plane"),
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
    allow(
      100,
      "workers-from-probes",
      "workers",
      probes,
      "*",
      ["*"],
      "Health probes of the load balancers of Services; their ports are not known beforehand",
    ),
    allow(
      140,
      "workers-kubelet-from-control-plane",
      "workers",
      controlPlane,
      "Tcp",
      kubelet,
      "API servers to the kubelets of the workers: logs, exec",
    ),
    allow(
      150,
      "workers-kubelet-from-workers",
      "workers",
      workers,
      "Tcp",
      kubelet,
      "Metrics collectors on workers to the kubelets of the workers",
    ),
    ...overlay("workers"),
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

function overlay(group: GroupName): readonly SecurityRule[] {
  return ([controlPlane, workers] as const).map((peer, index) => ({
    name: `${group}-overlay-from-${peer.group}`,
    group,
    peer,
    protocol: "Udp",
    ports: vxlan,
    access: "Allow",
    priority: 160 + 10 * index,
    purpose: "Pod network, VXLAN",
  }));
}
