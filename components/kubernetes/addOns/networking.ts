import { windowsPaths } from "../../machine/windows/paths.ts";
import type { ClusterSpec } from "../../model/clusterSpec.ts";
import type { AddOnEntry, InClusterValues } from "../addOnEntry.ts";
import { nodeIdentityPolicies } from "../guardRails/ownNode.ts";
import type { Manifest } from "../manifest.ts";
import { type Account, boundClusterRole, serviceAccount, small } from "../workload.ts";
import { windowsAgent } from "./nodeAgents.ts";

const proxy: Account = { name: "kube-proxy-windows", namespace: "kube-system" };

export const networking: AddOnEntry = {
  name: "networking",
  after: [],
  manifests: networkingManifests,
};

/** kubeadm's CoreDNS may share a node, whose drain would otherwise end both pods at once. */
const nameServerBudget: Manifest = {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "coredns", namespace: "kube-system" },
  spec: { maxUnavailable: 1, selector: { matchLabels: { "k8s-app": "kube-dns" } } },
};

/**
 * The pod network's agents and what keeps node agents to their nodes, and kube-proxy on Windows. CoreDNS and kube-proxy on Linux come from
 * kubeadm, which keeps the latter off Windows.
 */
function networkingManifests(
  spec: Pick<ClusterSpec, "artifacts" | "controlPlane" | "kubernetes" | "windows">,
  { nodeEndpoint, podNetworkManifests }: InClusterValues,
): readonly Manifest[] {
  return [
    ...nodeIdentityPolicies(spec),
    nameServerBudget,
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
