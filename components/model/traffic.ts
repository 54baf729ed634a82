import type { ClusterSpec } from "./clusterSpec.ts";
import { controllerPorts, nodePorts, type PortRange, ports } from "./ports.ts";

const single = (port: number): PortRange => ({ first: port, last: port });

/** The cluster's machine groups, also those of its firewall rules. */
export const machineGroups = ["control-plane", "workers"] as const;
export type MachineGroup = (typeof machineGroups)[number];

interface MachineTraffic {
  /** Unique name; part of resource names. */
  readonly name: string;
  readonly from: MachineGroup;
  readonly to: MachineGroup;
  readonly protocol: "tcp" | "udp" | "all";
  readonly ports: PortRange;
  readonly purpose: string;
}

/** The same traffic from every group to each of some. */
function between(
  role: string,
  protocol: MachineTraffic["protocol"],
  range: PortRange,
  purpose: string | ((to: MachineGroup, from: MachineGroup) => string),
  targets: readonly MachineGroup[] = machineGroups,
): readonly MachineTraffic[] {
  return targets.flatMap((to) =>
    machineGroups.map((from) => ({
      name: `${to}-${role}-from-${from}`,
      from,
      to,
      protocol,
      ports: range,
      purpose: typeof purpose === "string" ? purpose : purpose(to, from),
    })),
  );
}

const whose = { "control-plane": "the control plane", workers: "the workers" } as const;

/** What a Prometheus asks, with the exporters. */
const metrics: readonly MachineTraffic[] = [
  ...between("node-exporter", "tcp", single(ports.nodeExporter), "Prometheus to the exporter of Linux nodes"),
  ...between("windows-exporter", "tcp", single(ports.windowsExporter), "Prometheus to the exporter of Windows nodes", [
    "workers",
  ]),
  ...between("kube-proxy-metrics", "tcp", single(ports.kubeProxyMetrics), "Prometheus to kube-proxy of Linux nodes"),
  ...between("controllers", "tcp", controllerPorts, "Prometheus to controller manager and scheduler", [
    "control-plane",
  ]),
  ...between("etcd-metrics", "tcp", single(ports.etcdMetrics), "Prometheus to etcd", ["control-plane"]),
];

export function machineTraffic(spec: Pick<ClusterSpec, "addons" | "kubernetes">): readonly MachineTraffic[] {
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
    ...spec.kubernetes.podNetwork.traffic.flatMap(({ role, protocol, ports: range, purpose }) =>
      between(role, protocol, range, purpose),
    ),
    // kube-proxy listens on every node, but only workers are behind Services' load balancers.
    ...between("node-ports", "tcp", nodePorts, "NodePorts of Services", ["workers"]),
    ...between("node-ports-udp", "udp", nodePorts, "NodePorts of Services", ["workers"]),
    ...(spec.addons.exporters ? metrics : []),
  ];
}
