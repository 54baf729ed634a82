import { addressCount, cidr } from "../../model/cidr.ts";
import type { NodeSettings } from "../../model/nodeSettings.ts";
import type { PayloadFile } from "../payload.ts";
import { rootFile } from "./rootfs.ts";

/** Modules of the kernel, and its settings. */
export const sysctlFiles = (spec: NodeSettings): readonly PayloadFile[] => [
  rootFile("/etc/modules-load.d/fenestra.conf"),
  sysctls(spec),
];

/**
 * Kernel settings with the size of the neighbour table, by default 1,024 entries: a full one loses packets ("neighbor
 * table overflow", Azure/aks-engine#2732). Neighbours are other nodes and own pods where each node has a /24, else
 * every pod of the address plan. AKS's numbers are the least.
 */
function sysctls({ kubernetes }: NodeSettings): PayloadFile {
  const { prefix } = cidr(kubernetes.podCidr);
  const neighbours = kubernetes.podNetwork.addressing.nodeRanges
    ? 2 ** Math.max(0, 24 - prefix) + 256
    : addressCount(prefix);
  const most = Math.max(16_384, 2 * neighbours);
  const file = rootFile("/etc/sysctl.d/90-fenestra.conf");
  const lines = [most / 4, most / 2, most].map((limit, at) => `net.ipv4.neigh.default.gc_thresh${at + 1} = ${limit}\n`);
  return { ...file, content: file.content + lines.join("") };
}
