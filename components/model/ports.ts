import type { ClusterSpec } from "./clusterSpec.ts";

/** A range of ports, both ends included. */
export interface PortRange {
  readonly first: number;
  readonly last: number;
}

const single = (port: number): PortRange => ({ first: port, last: port });

/** Every port of a cluster's machines that another machine, a load balancer or the deployer connects to. Each number is defined only here. */
export const ports = {
  /** Kubernetes API, on control-plane machines and load balancers: kubeadm's default. */
  api: 6443,
  /** etcd, for clients and among members (IANA). */
  etcdClient: 2379,
  etcdPeer: 2380,
  /** kubelet: logs, exec, metrics (kubernetes/kubernetes, pkg/cluster/ports). */
  kubelet: 10250,
  /** Health endpoint of kube-proxy, probed by the load balancers of Services (kubernetes/kubernetes, pkg/cluster/ports). */
  kubeProxyHealth: 10256,
  /** flannel's VXLAN: the one that Windows requires (microsoft/SDN, flannel `Port: 4789`). UDP. */
  vxlan: 4789,
  /** Prometheus exporters of Linux and Windows nodes (prometheus/prometheus wiki, "Default port allocations"). */
  nodeExporter: 9100,
  windowsExporter: 9182,
} as const;

/** Ports of Services of type NodePort, kube-apiserver's default. */
export const nodePorts = { first: 30_000, last: 32_767 } as const satisfies PortRange;

/** The cluster's machine groups, which are also the groups of its firewall rules. */
export const machineGroups = ["control-plane", "workers"] as const;
export type MachineGroup = (typeof machineGroups)[number];

/** Traffic that machines of one group accept from machines of another. */
export interface MachineTraffic {
  /** Unique name; part of resource names. */
  readonly name: string;
  readonly from: MachineGroup;
  readonly to: MachineGroup;
  readonly protocol: "tcp" | "udp";
  readonly ports: PortRange;
  readonly purpose: string;
}

/** Traffic between machines, on every cloud. How the API and load balancers reach them differs by cloud. */
export function machineTraffic({ addons }: Pick<ClusterSpec, "addons">): readonly MachineTraffic[] {
  const between = (
    role: string,
    protocol: MachineTraffic["protocol"],
    range: PortRange,
    purpose: (to: MachineGroup, from: MachineGroup) => string,
    targets: readonly MachineGroup[] = machineGroups,
  ): readonly MachineTraffic[] =>
    targets.flatMap((to) =>
      machineGroups.map((from) => ({
        name: `${to}-${role}-from-${from}`,
        from,
        to,
        protocol,
        ports: range,
        purpose: purpose(to, from),
      })),
    );
  const whose = { "control-plane": "the control plane", workers: "the workers" } as const;
  return [
    {
      name: "control-plane-etcd",
      from: "control-plane",
      to: "control-plane",
      protocol: "tcp",
      ports: { first: ports.etcdClient, last: ports.etcdPeer },
      purpose: "etcd members among each other",
    },
    ...between("kubelet", "tcp", single(ports.kubelet), (to, from) =>
      from === "control-plane"
        ? `API servers to the kubelets of ${whose[to]}: logs, exec`
        : `Metrics collectors on workers to the kubelets of ${whose[to]}`,
    ),
    ...between("overlay", "udp", single(ports.vxlan), () => "Pod network, VXLAN"),
    // kube-proxy listens on every node, but only workers are behind the load balancers of Services.
    ...between("node-ports", "tcp", nodePorts, () => "NodePorts of Services", ["workers"]),
    ...between("node-ports-udp", "udp", nodePorts, () => "NodePorts of Services", ["workers"]),
    ...(addons.exporters
      ? [
          ...between(
            "node-exporter",
            "tcp",
            single(ports.nodeExporter),
            () => "Prometheus to the exporter of Linux nodes",
          ),
          ...between(
            "windows-exporter",
            "tcp",
            single(ports.windowsExporter),
            () => "Prometheus to the exporter of Windows nodes",
            ["workers"],
          ),
        ]
      : []),
  ];
}
