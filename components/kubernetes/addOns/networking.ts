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

/**
 * The pod network's agents and what keeps node agents to their nodes, and kube-proxy on Windows. CoreDNS and kube-proxy on Linux come from
 * kubeadm, which keeps the latter off Windows.
 */
function networkingManifests(
  spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "windows">,
  { nodeEndpoint, podNetworkManifests }: InClusterValues,
): readonly Manifest[] {
  return [
    ...nodeIdentityPolicies(spec),
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
