import { ports } from "./ports.ts";

/**
 * The pod network's VXLAN parameters, which flanneld must share across Linux and Windows.
 *
 * Windows supports no VNI below 4096 and no port but 4789, while flannel's defaults are 1 and 8472 (flannel-io/flannel,
 * Documentation/backends.md), so both are set on every node: a node left on the defaults is silently unreachable for the others.
 */
export const overlay = {
  /** VXLAN network identifier. */
  vni: 4096,
  /** UDP port of the VXLAN, which the firewall rules open between the nodes. */
  port: ports.vxlan,
  /**
   * Name of the HNS network on Windows and of the CNI network. flanneld names the HNS network `flannel.<VNI>` when its configuration
   * has no name (flannel-io/flannel, pkg/backend/vxlan/vxlan_windows.go), and the CNI plug-in looks it up by that name.
   */
  networkName: "flannel.4096",
} as const;

/** flanneld's `net-conf.json` for a pod network. The same text goes to Linux (ConfigMap) and Windows (file on the node's disk). */
export function flannelNetConf(podCidr: string): string {
  return `${JSON.stringify(
    {
      Network: podCidr,
      EnableNFTables: false,
      Backend: { Type: "vxlan", VNI: overlay.vni, Port: overlay.port },
    },
    null,
    2,
  )}\n`;
}
