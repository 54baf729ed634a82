import type { Cloud } from "../../config/schema.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { FirewallRule, PodNetwork } from "../../model/podNetwork.ts";
import { nodePorts, ports } from "../../model/ports.ts";

/**
 * Host routes to the cloud's own services, restored at each boot and whenever a virtual switch is created, which loses them
 * (projectcalico/calico, Windows troubleshooting; ovn-kubernetes, hybrid-overlay/pkg/controller/overlay_windows.go).
 */
function hostRoutes(cloud: Cloud): readonly string[] {
  return cloudFacts[cloud].network.services.map((octet) => `169.254.169.${octet}/32`);
}

/** Inbound traffic to a Windows node: kubelet, pod network, health probes of load balancers. The exporter's pod opens its own port. */
export function firewallRules({ windows }: PodNetwork): readonly FirewallRule[] {
  return [
    { name: "fenestra-kubelet", protocol: "TCP", port: ports.kubelet },
    ...windows.firewall,
    { name: "fenestra-kube-proxy-health", protocol: "TCP", port: ports.kubeProxyHealth },
    // HNS takes what comes for NodePorts before the firewall, but not the health checks of Services with `externalTrafficPolicy: Local`:
    // there kube-proxy.exe itself listens, at a port of the same range (kubernetes/kubernetes: pkg/proxy/healthcheck/service_health.go).
    { name: "fenestra-service-health", protocol: "TCP", port: `${nodePorts.first}-${nodePorts.last}` },
  ];
}

/** The network section of `machine.json`. */
export function windowsNetwork(spec: Pick<NodeSettings, "cloud" | "kubernetes">) {
  const network = spec.kubernetes.podNetwork;
  return network.windows.section({ routes: hostRoutes(spec.cloud), firewall: firewallRules(network) });
}
