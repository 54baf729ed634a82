import type { PoolSpec } from "./pools.ts";
import { evictionHard } from "./reservations.ts";

type Machine = Pick<PoolSpec, "os" | "size" | "reservations" | "diskGb" | "kubelet">;

/** What a machine has of a resource, and what reservations and eviction thresholds keep of it. `m` of processors, MiB of the others. */
interface Share {
  readonly has: number;
  readonly kept: number;
}

/**
 * Share of a Linux machine's memory that kernel and firmware keep: the kubelet sees only the rest (`MemTotal`). This is the value that
 * Karpenter uses for sizes it has not seen yet (aws/karpenter-provider-aws: `vm-memory-overhead-percent`). A Windows kubelet sees the
 * installed memory (kubernetes: pkg/kubelet/winstats, `getPhysicallyInstalledSystemMemoryBytes`).
 */
const kernelShare = { linux: 0.075, windows: 0 } as const;

/**
 * Resources available to pods on a pool's node, as its kubelet will report them: capacity less reservations and eviction thresholds
 * (kubernetes: pkg/kubelet/cm, `GetNodeAllocatableReservation`). Passed to the autoscaler for pools without a node. Image-dependent values
 * are estimated on the low side: a node smaller than announced does not fit the pending pod, so the autoscaler would add and remove nodes
 * in a loop.
 */
export function allocatable(machine: Machine): { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage": string } {
  const { cpu, memory, "ephemeral-storage": storage } = shares(machine);
  return {
    cpu: `${cpu.has - cpu.kept}m`,
    memory: `${Math.floor(memory.has - memory.kept)}Mi`,
    "ephemeral-storage": `${Math.floor(storage.has - storage.kept)}Mi`,
  };
}

/** What `allocatable` is the difference of. */
export function shares({
  os,
  size,
  reservations,
  diskGb,
  kubelet,
}: Machine): Readonly<Record<"cpu" | "memory" | "ephemeral-storage", Share>> {
  const kept = [reservations.kubeReserved, reservations.systemReserved];
  const reserved = (read: (each: (typeof kept)[number]) => number): number => kept.reduce((sum, each) => sum + read(each), 0);
  const limit = (signal: "memory.available" | "nodefs.available") => kubelet.evictionHard?.[signal] ?? evictionHard[os][signal];

  // The file system is smaller than the disk: a disk of that many GiB counts as so many GB.
  const disk = (diskGb * 1e9) / 1024 ** 2;
  return {
    cpu: { has: 1000 * size.vcpus, kept: reserved((each) => amount(each.cpu, "m")) },
    memory: {
      has: 1024 * size.memoryGib * (1 - kernelShare[os]),
      kept: reserved((each) => mebibytes(each.memory)) + mebibytes(limit("memory.available")),
    },
    "ephemeral-storage": {
      has: disk,
      kept: (disk * amount(limit("nodefs.available"), "%")) / 100 + reserved((each) => mebibytes(each["ephemeral-storage"])),
    },
  };
}

/** Numeric value of a quantity such as `70m` in a unit. */
function amount(quantity: string, unit: string): number {
  const number = Number(quantity.slice(0, -unit.length));
  if (!quantity.endsWith(unit) || Number.isNaN(number)) throw new RangeError(`${quantity} is not a quantity in ${unit}`);
  return number;
}

function mebibytes(quantity: string): number {
  return quantity.endsWith("Gi") ? 1024 * amount(quantity, "Gi") : amount(quantity, "Mi");
}
