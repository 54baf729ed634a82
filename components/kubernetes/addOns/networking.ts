import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { groupSize, type PoolSpec } from "../../model/pools.ts";
import type { AddOnEntry, InClusterValues } from "../addOnEntry.ts";
import { nodeIdentityPolicies } from "../guardRails/ownNode.ts";
import type { Manifest } from "../manifest.ts";
import { type Account, boundClusterRole, serviceAccount } from "../rights.ts";
import { budgetOf, small } from "../workload.ts";
import { windowsAgent } from "./nodeAgents.ts";

const proxy: Account = { name: "kube-proxy-windows", namespace: "kube-system" };

export const networking: AddOnEntry = { name: "networking", after: [], manifests: networkingManifests };

/** kubeadm's two pods of CoreDNS may share a node, whose drain would end both at once. */
const nameServerBudget: Manifest = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "coredns", namespace: "kube-system" },
  spec: budgetOf({ "k8s-app": "kube-dns" }),
};

/**
 * More name servers than kubeadm's two, which later runs of kubeadm keep: by the processor from one for sixteen nodes
 * to one for eight. The least are there without metrics too.
 */
function nameServerScale({ controlPlane, pools }: Pick<ClusterSpec, "controlPlane" | "pools">): Manifest {
  const nodes = (of: (pool: PoolSpec) => number, among = pools) =>
    among.reduce((sum, pool) => sum + of(pool), controlPlane.members.length);
  // Every node asks them, but only these may hold some; a small machine has the processor for four.
  const open = pools.filter(
    ({ os, scheduling: { taints } }) => os === "linux" && taints.every(({ effect }) => effect === "PreferNoSchedule"),
  );
  const room = (of: (pool: PoolSpec) => number) => Math.max(2, 4 * nodes(of, open));
  const smallest = ({ count, autoscale }: PoolSpec) => autoscale?.min ?? count;
  const least = Math.min(room(smallest), Math.max(2, Math.ceil(nodes(({ count }) => count) / 16)));
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "coredns", namespace: "kube-system" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "coredns" },
      minReplicas: least,
      maxReplicas: Math.max(
        Math.min(2 * least, room(smallest)),
        Math.min(
          room((pool) => groupSize(pool).maxSize),
          Math.ceil(nodes((pool) => groupSize(pool).maxSize) / 8),
        ),
      ),
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
      ],
    },
  };
}

/**
 * The pod network's agents, what keeps node agents to their nodes, and kube-proxy on Windows. CoreDNS and kube-proxy on
 * Linux come from kubeadm, which keeps the latter off Windows.
 */
function networkingManifests(
  spec: Pick<
    ClusterSpec,
    "artifacts" | "controlPlane" | "facts" | "kubernetes" | "name" | "network" | "pools" | "windows"
  >,
  { nodeEndpoint, podNetworkManifests }: InClusterValues,
): readonly Manifest[] {
  return [
    ...nodeIdentityPolicies(spec),
    nameServerBudget,
    nameServerScale(spec),
    ...podNetworkManifests(spec, nodeEndpoint),
    ...(spec.windows.length === 0
      ? []
      : [
          serviceAccount(proxy),
          boundClusterRole(proxy, "fenestra:kube-proxy-windows", "system:node-proxier"),
          windowsAgent(spec, proxy, windowsPaths.startKubeProxy, small("100m", "128Mi", "1Gi")),
        ]),
  ];
}
