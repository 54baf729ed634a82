import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import { groupSize, type PoolSpec } from "../../model/pools.ts";
import type { AddOnEntry, InClusterValues } from "../addOnEntry.ts";
import { nodeIdentityPolicies } from "../guardRails/ownNode.ts";
import { image } from "../images.ts";
import { type Account, boundClusterRole, clusterRights, type Manifest, rule, serviceAccount } from "../manifest.ts";
import { budgetOf, daemonSet, everyTaint, hostPath, linuxOnly, nodeName, small } from "../workload.ts";
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
function nameServerScale({ controlPlane, pools }: ClusterSpec): Manifest {
  const fewest = ({ count, autoscale }: PoolSpec) => autoscale?.min ?? count;
  const most = (pool: PoolSpec) => groupSize(pool).maxSize;
  const nodes = (among: readonly PoolSpec[], size: (pool: PoolSpec) => number): number =>
    among.reduce((sum, pool) => sum + size(pool), controlPlane.members.length);
  // Every node asks them, but only these may hold some; a small machine has the processor for four.
  const open = pools.filter(
    ({ os, scheduling: { taints } }) => os === "linux" && taints.every(({ effect }) => effect === "PreferNoSchedule"),
  );
  const roomAtLeast = Math.max(2, 4 * nodes(open, fewest));
  const roomAtMost = Math.max(2, 4 * nodes(open, most));
  const wanted = Math.max(2, Math.ceil(nodes(pools, ({ count }) => count) / 16));
  const least = Math.min(roomAtLeast, wanted);
  const grown = Math.min(roomAtMost, Math.ceil(nodes(pools, most) / 8));
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "coredns", namespace: "kube-system" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "coredns" },
      minReplicas: least,
      maxReplicas: Math.max(Math.min(2 * least, roomAtLeast), grown),
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
  spec: ClusterSpec,
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

const account: Account = { name: "kube-network-policies", namespace: "kube-system" };

/** NetworkPolicies for the pods of Linux nodes, by the agent that flannel's chart runs too. */
export const networkPolicies: AddOnEntry = {
  name: "network-policies",
  after: [networking],
  manifests: (spec) => (spec.kubernetes.networkPolicies === "linux" ? manifests(spec) : []),
};

function manifests(spec: ClusterSpec): readonly Manifest[] {
  return [
    serviceAccount(account),
    ...clusterRights(account, "fenestra:kube-network-policies", [
      rule("", ["pods", "namespaces"], ["list", "watch"]),
      rule("networking.k8s.io", ["networkpolicies"], ["list", "watch"]),
    ]),
    daemonSet(account, {
      nodeSelector: linuxOnly,
      tolerations: everyTaint,
      hostNetwork: true,
      container: {
        image: image(spec, "registry.k8s.io/networking/kube-network-policies"),
        command: ["/bin/netpol"],
        // By default its metrics are open on every address of the node.
        args: ["--hostname-override=$(NODE_NAME)", "--metrics-bind-address=127.0.0.1:10263", "--v=1"],
        env: [nodeName],
        resources: small("100m", "50Mi", "512Mi"),
        securityContext: { privileged: true },
        // The runtime tells the address of a pod before its containers start, the API only afterwards.
        volumeMounts: [
          { name: "nri", mountPath: "/var/run/nri" },
          { name: "netns", mountPath: "/var/run/netns", mountPropagation: "HostToContainer" },
        ],
      },
      volumes: [
        hostPath("nri", "/var/run/nri", "DirectoryOrCreate"),
        hostPath("netns", "/var/run/netns", "DirectoryOrCreate"),
      ],
    }),
  ];
}
