import type { KubeletSettings } from "../config/flagSchema.ts";
import type { Capacity } from "./machineSizes.ts";
import type { OperatingSystem } from "./operatingSystems.ts";

/** Resources that the kubelet reserves, as its configuration file spells them. */
export interface Reservations {
  readonly kubeReserved: { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage": string };
  readonly systemReserved: { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage": string };
}

/**
 * Thresholds below which the kubelet evicts pods at once. Windows has neither cgroups nor an OOM killer (kubernetes/kubernetes#73417):
 * there the kubelet must evict while there is still memory left.
 */
export const evictionHard = {
  linux: { "memory.available": "200Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%", "imagefs.available": "15%" },
  windows: { "memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%" },
} as const;

/**
 * Steps of the share of memory that node agents need as machines grow, the curve that GKE, AKS and EKS publish: 25 % of the first 4 GiB,
 * ...
 */
const memorySteps = [
  { upToGib: 4, share: 0.25 },
  { upToGib: 8, share: 0.2 },
  { upToGib: 16, share: 0.1 },
  { upToGib: 128, share: 0.06 },
  { upToGib: Number.POSITIVE_INFINITY, share: 0.02 },
] as const;

/** MiB that the curve gives for a machine with this much memory. */
function curveMib(memoryGib: number): number {
  let below = 0;
  let total = 0;
  for (const { upToGib, share } of memorySteps) {
    const part = Math.max(0, Math.min(memoryGib, upToGib) - below);
    total += part * share;
    below = upToGib;
  }
  return Math.ceil(total * 1024);
}

/**
 * Reservations by machine size. Windows has no OOM killer: a node whose pods use all memory hangs (Azure/AKS#2820,
 * kubernetes/kubernetes#73417), so the system keeps 2 GiB there, or a quarter of a machine below 8 GiB.
 */
export function reservations(os: OperatingSystem, capacity: Capacity): Reservations {
  const windows = os.family === "windows";
  const kubeMib = Math.min(windows ? 1024 : 4096, Math.ceil(curveMib(capacity.memoryGib) / (windows ? 2 : 1)));
  const systemMib = windows ? Math.min(2048, Math.ceil(capacity.memoryGib * 1024 * 0.25)) : 256;
  return {
    kubeReserved: { cpu: `${60 + 10 * Math.min(capacity.vcpus, 32)}m`, memory: `${kubeMib}Mi`, "ephemeral-storage": "1Gi" },
    systemReserved: { cpu: windows ? "500m" : "100m", memory: `${systemMib}Mi`, "ephemeral-storage": windows ? "10Gi" : "2Gi" },
  };
}

/** Reservations with a pool's own amounts in their places. */
export function withOwn(computed: Reservations, own: Pick<KubeletSettings, keyof Reservations>): Reservations {
  const merged = (name: keyof Reservations) => ({
    cpu: own[name]?.cpu ?? computed[name].cpu,
    memory: own[name]?.memory ?? computed[name].memory,
    "ephemeral-storage": own[name]?.["ephemeral-storage"] ?? computed[name]["ephemeral-storage"],
  });
  return { kubeReserved: merged("kubeReserved"), systemReserved: merged("systemReserved") };
}
