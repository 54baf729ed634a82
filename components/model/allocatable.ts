import type { PoolSpec } from "./pools.ts";
import { evictionHard } from "./reservations.ts";

/**
 * Share of a Linux machine's memory that kernel and firmware keep: the kubelet sees only the rest (`MemTotal`). This is the value that Karpenter
 * uses for sizes it has not seen yet (aws/karpenter-provider-aws: `vm-memory-overhead-percent`). A Windows kubelet sees the installed memory
 * (kubernetes: pkg/kubelet/winstats, `getPhysicallyInstalledSystemMemoryBytes`).
 */
const kernelShare = { linux: 0.075, windows: 0 } as const;

/**
 * Resources available to pods on a pool's node, as its kubelet will report them: capacity less reservations and eviction thresholds (kubernetes:
 * pkg/kubelet/cm, `GetNodeAllocatableReservation`). Passed to the autoscaler for pools without a node. Image-dependent values are estimated on
 * the low side: a node smaller than announced does not fit the pending pod, so the autoscaler would add and remove nodes in a loop.
 */
export function allocatable({
  os,
  size,
  reservations,
  diskGb,
  kubelet,
}: Pick<PoolSpec, "os" | "size" | "reservations" | "diskGb" | "kubelet">): {
  readonly cpu: string;
  readonly memory: string;
  readonly "ephemeral-storage": string;
} {
  const kept = [reservations.kubeReserved, reservations.systemReserved];
  const reserved = (read: (each: (typeof kept)[number]) => number): number =>
    kept.reduce((sum, each) => sum + read(each), 0);
  const limit = (signal: "memory.available" | "nodefs.available") =>
    kubelet.evictionHard?.[signal] ?? evictionHard[os][signal];

  const cpu = 1000 * size.vcpus - reserved((each) => amount(each.cpu, "m"));
  const installed = 1024 * size.memoryGib * (1 - kernelShare[os]);
  const memory = installed - reserved((each) => mebibytes(each.memory)) - mebibytes(limit("memory.available"));
  // The file system is smaller than the disk: a disk of that many GiB counts as so many GB.
  const disk = (diskGb * 1e9) / 1024 ** 2;
  const storage =
    disk * (1 - amount(limit("nodefs.available"), "%") / 100) -
    reserved((each) => mebibytes(each["ephemeral-storage"]));
  return { cpu: `${cpu}m`, memory: `${Math.floor(memory)}Mi`, "ephemeral-storage": `${Math.floor(storage)}Mi` };
}

/** Numeric value of a quantity such as `70m` in a unit. */
function amount(quantity: string, unit: string): number {
  const number = Number(quantity.slice(0, -unit.length));
  if (!quantity.endsWith(unit) || Number.isNaN(number))
    throw new RangeError(`${quantity} is not a quantity in ${unit}`);
  return number;
}

function mebibytes(quantity: string): number {
  return quantity.endsWith("Gi") ? 1024 * amount(quantity, "Gi") : amount(quantity, "Mi");
}
