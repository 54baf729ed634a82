import { apiPort, type ClusterSpec } from "../model/clusterSpec.ts";

/** The security groups of a cluster. */
export type GroupName = "control-plane" | "workers" | "api-internal" | "api-public";

/** One rule with one purpose. */
export interface SecurityRule {
  /** Name, unique. */
  readonly name: string;
  readonly direction: "ingress" | "egress";
  /** Group that the rule belongs to. */
  readonly group: GroupName;
  /** Other end: a group or a network. */
  readonly peer: { readonly group: GroupName } | { readonly cidr: string };
  readonly protocol: "tcp" | "udp" | "all";
  /** First and last port; none for all protocols. */
  readonly ports?: readonly [from: number, to: number];
  /** What it is for. */
  readonly purpose: string;
}

/** Port of flannel's VXLAN, the one that Windows requires (microsoft/SDN, flannel `Port: 4789`). */
const vxlanPort = 4789;
const kubeletPort = 10250;
const etcdPorts = [2379, 2380] as const;

/** Groups of a cluster; the public one only with a public endpoint. */
export function groupNames(spec: ClusterSpec): readonly GroupName[] {
  return [
    "control-plane",
    "workers",
    "api-internal",
    ...(spec.publicAccess === undefined ? [] : ["api-public" as const]),
  ];
}

/**
 * Every rule of a cluster. Nothing opens SSH, RDP or WinRM: people come in by Session Manager. The cloud controller adds the rules of
 * Services of type LoadBalancer to the workers' group by itself.
 */
export function securityRules(spec: ClusterSpec): readonly SecurityRule[] {
  const api = [apiPort, apiPort] as const;
  const kubelet = [kubeletPort, kubeletPort] as const;
  const vxlan = [vxlanPort, vxlanPort] as const;
  const controlPlane = { group: "control-plane" } as const;
  const workers = { group: "workers" } as const;
  const anywhere = { cidr: "0.0.0.0/0" } as const;
  return [
    {
      // The network's range and not the groups of the nodes: whether a group counts as source behind a balancer depends on its attributes.
      name: "api-internal-from-network",
      direction: "ingress",
      group: "api-internal",
      peer: { cidr: spec.network.cidr },
      protocol: "tcp",
      ports: api,
      purpose: "Machines to the Kubernetes API",
    },
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
    {
      name: "control-plane-etcd",
      direction: "ingress",
      group: "control-plane",
      peer: controlPlane,
      protocol: "tcp",
      ports: etcdPorts,
      purpose: "etcd members among each other",
    },
    {
      name: "control-plane-kubelet-from-control-plane",
      direction: "ingress",
      group: "control-plane",
      peer: controlPlane,
      protocol: "tcp",
      ports: kubelet,
      purpose: "API servers to the kubelets of the control plane: logs, exec",
    },
    {
      name: "control-plane-kubelet-from-workers",
      direction: "ingress",
      group: "control-plane",
      peer: workers,
      protocol: "tcp",
      ports: kubelet,
      purpose: "Metrics collectors on workers to the kubelets of the control plane",
    },
    ...(["control-plane", "workers"] as const).flatMap((group) =>
      (["control-plane", "workers"] as const).map(
        (peer): SecurityRule => ({
          name: `${group}-overlay-from-${peer}`,
          direction: "ingress",
          group,
          peer: { group: peer },
          protocol: "udp",
          ports: vxlan,
          purpose: "Pod network, VXLAN",
        }),
      ),
    ),
    {
      name: "workers-kubelet-from-control-plane",
      direction: "ingress",
      group: "workers",
      peer: controlPlane,
      protocol: "tcp",
      ports: kubelet,
      purpose: "API servers to the kubelets of the workers: logs, exec",
    },
    {
      name: "workers-kubelet-from-workers",
      direction: "ingress",
      group: "workers",
      peer: workers,
      protocol: "tcp",
      ports: kubelet,
      purpose: "Metrics collectors on workers to the kubelets of the workers",
    },
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

function publicRules(spec: ClusterSpec): readonly SecurityRule[] {
  if (spec.publicAccess === undefined) return [];
  const api = [apiPort, apiPort] as const;
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
