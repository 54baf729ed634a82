import type { KubeletSettings } from "../config/machineSchema.ts";
import type { Capacity } from "./cloudFacts/machineSizes.ts";
import type { OperatingSystem } from "./operatingSystems.ts";

/** Resources that the kubelet reserves, as its configuration file spells them. */
type Resource = "cpu" | "memory" | "ephemeral-storage";
export type Reservations = Readonly<Record<"kubeReserved" | "systemReserved", Readonly<Record<Resource, string>>>>;

/**
 * Thresholds below which the kubelet evicts pods at once. Windows has neither cgroups nor an OOM killer
 * (kubernetes/kubernetes#73417), so there must still be memory left.
 */
export const evictionHard = {
  linux: {
    "memory.available": "200Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
  },
  windows: { "memory.available": "500Mi", "nodefs.available": "10%", "imagefs.available": "15%" },
} as const;

/**
 * Share of memory that node agents need as machines grow, the curve of GKE, AKS and EKS: 25 % of the first 4 GiB, ...
 */
const memorySteps = [
  { upToGib: 4, share: 0.25 },
  { upToGib: 8, share: 0.2 },
  { upToGib: 16, share: 0.1 },
  { upToGib: 128, share: 0.06 },
  { upToGib: Number.POSITIVE_INFINITY, share: 0.02 },
] as const;

/** MiB that the curve gives for so much memory. */
function curveMib(memoryGib: number): number {
  let below = 0;
  let total = 0;
  for (const { upToGib, share } of memorySteps) {
    total += Math.max(0, Math.min(memoryGib, upToGib) - below) * share;
    below = upToGib;
  }
  return Math.ceil(total * 1024);
}

/**
 * Reservations by machine size. A Windows node whose pods use all memory hangs (Azure/AKS#2820,
 * kubernetes/kubernetes#73417), so the system keeps 2 GiB, as AKS and EKS advise, or a quarter of a machine below 8
 * GiB. Of processors AKS keeps 100m of 2 and EKS 70m, on Windows no more: nothing holds a Windows node's pods to the
 * rest, and a published pod of one processor should find its place.
 */
export function reservations(os: OperatingSystem, capacity: Capacity): Reservations {
  const windows = os.family === "windows";
  const kubeMib = Math.min(windows ? 1024 : 4096, Math.ceil(curveMib(capacity.memoryGib) / (windows ? 2 : 1)));
  const systemMib = windows ? Math.min(2048, Math.ceil(capacity.memoryGib * 1024 * 0.25)) : 256;
  return {
    kubeReserved: {
      cpu: `${60 + 10 * Math.min(capacity.vcpus, 32)}m`,
      memory: `${kubeMib}Mi`,
      "ephemeral-storage": "1Gi",
    },
    systemReserved: {
      cpu: windows ? "200m" : "100m",
      memory: `${systemMib}Mi`,
      "ephemeral-storage": windows ? "10Gi" : "2Gi",
    },
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

const mebibytes = (text: string): number => quantity(text) / 1024 ** 2;

interface Machine {
  readonly os: OperatingSystem["family"];
  readonly size: Capacity;
  readonly reservations: Reservations;
  readonly diskGb: number;
  readonly kubelet: Pick<KubeletSettings, "evictionHard">;
}

/**
 * What a machine has of a resource, and what reservations and eviction thresholds keep of it: `m` of processors, else
 * MiB.
 */
interface Share {
  readonly has: number;
  readonly kept: number;
}

/**
 * Share of a Linux machine's memory that kernel and firmware keep, invisible to the kubelet (`MemTotal`): Karpenter's
 * value for sizes that it has not seen yet (aws/karpenter-provider-aws: `vm-memory-overhead-percent`). A Windows
 * kubelet sees the installed memory (kubernetes: pkg/kubelet/winstats, `getPhysicallyInstalledSystemMemoryBytes`).
 */
const kernelShare = { linux: 0.075, windows: 0 } as const;

/**
 * What pods can have on a pool's node, as its kubelet will report it: capacity less reservations and eviction
 * thresholds (kubernetes: pkg/kubelet/cm, `GetNodeAllocatableReservation`). For the autoscaler, of pools without a
 * node. Image-dependent values are on the low side: it would add and remove nodes that are smaller than announced in a
 * loop.
 */
export function allocatable(machine: Machine): Readonly<Record<Resource, string>> {
  const { cpu, memory, "ephemeral-storage": storage } = shares(machine);
  return {
    cpu: `${cpu.has - cpu.kept}m`,
    memory: `${Math.floor(memory.has - memory.kept)}Mi`,
    "ephemeral-storage": `${Math.floor(storage.has - storage.kept)}Mi`,
  };
}

/** `allocatable` is the difference. */
export function shares({ os, size, reservations, diskGb, kubelet }: Machine): Readonly<Record<Resource, Share>> {
  const kept = [reservations.kubeReserved, reservations.systemReserved];
  const reserved = (read: (each: (typeof kept)[number]) => number): number =>
    kept.reduce((sum, each) => sum + read(each), 0);
  const limit = (signal: "memory.available" | "nodefs.available") =>
    kubelet.evictionHard?.[signal] ?? evictionHard[os][signal];

  // The file system is smaller than the disk: GiB count as GB.
  const disk = (diskGb * 1e9) / 1024 ** 2;
  return {
    cpu: { has: 1000 * size.vcpus, kept: reserved((each) => Math.round(1000 * quantity(each.cpu))) },
    memory: {
      has: 1024 * size.memoryGib * (1 - kernelShare[os]),
      kept: reserved((each) => mebibytes(each.memory)) + mebibytes(limit("memory.available")),
    },
    "ephemeral-storage": {
      has: disk,
      kept:
        (disk * Number.parseFloat(limit("nodefs.available"))) / 100 +
        reserved((each) => mebibytes(each["ephemeral-storage"])),
    },
  };
}

/** Thousandths of a processor, and MiB. */
export interface Room {
  readonly cpu: number;
  readonly memory: number;
}

type Amounts = Readonly<Record<string, unknown>>;
interface Requesting {
  readonly restartPolicy?: unknown;
  readonly resources?: { readonly requests?: Amounts | undefined; readonly limits?: Amounts | undefined } | undefined;
}

/** A pod's spec, as far as size goes. */
export interface Sized {
  readonly nodeSelector?: Amounts | undefined;
  readonly containers: readonly Requesting[];
  readonly initContainers?: readonly Requesting[] | undefined;
}

const roomIn = (amounts: Amounts = {}): Room => ({
  cpu: Math.round(1000 * quantity(String(amounts.cpu ?? "0"))),
  memory: quantity(String(amounts.memory ?? "0")) / 1024 ** 2,
});
const sum = (rooms: readonly Room[]): Room =>
  rooms.reduce((all, { cpu, memory }) => ({ cpu: all.cpu + cpu, memory: all.memory + memory }), { cpu: 0, memory: 0 });
const less = (a: Room, b: Room): Room => ({
  cpu: Math.max(0, a.cpu - b.cpu),
  memory: Math.max(0, Math.floor(a.memory - b.memory)),
});

/** What the scheduler counts a pod as (kubernetes/kubernetes: component-helpers/resource, `PodRequests`). */
export function requestsOf({ containers, initContainers = [] }: Sized): Room {
  const each = ({ resources }: Requesting): Room => roomIn({ ...resources?.limits, ...resources?.requests });
  const stays = ({ restartPolicy }: Requesting) => restartPolicy === "Always";
  const rooms = [sum([...containers, ...initContainers.filter(stays)].map(each)), ...initContainers.map(each)];
  return { cpu: Math.max(...rooms.map(({ cpu }) => cpu)), memory: Math.max(...rooms.map(({ memory }) => memory)) };
}

/**
 * What a pool's node has left for pods beside its agents.
 *
 * @param daemonSets pods of the cluster's DaemonSets
 */
export function roomOf(
  pool: Parameters<typeof shares>[0] & {
    readonly os: string;
    readonly scheduling: Readonly<Record<"ownLabels" | "kubeletLabels", Readonly<Record<string, string>>>>;
  },
  daemonSets: readonly Sized[],
): Room {
  const { ownLabels, kubeletLabels } = pool.scheduling;
  const labels: Amounts = { ...ownLabels, ...kubeletLabels, "kubernetes.io/os": pool.os };
  const agents = daemonSets.filter(({ nodeSelector = {} }) =>
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value),
  );
  const { cpu, memory } = shares(pool);
  return less({ cpu: cpu.has - cpu.kept, memory: memory.has - memory.kept }, sum(agents.map(requestsOf)));
}

/** What pods leave of a Node. */
export function roomOfNode(
  node: { readonly status?: { readonly allocatable?: Amounts } },
  pods: readonly Sized[] = [],
): Room {
  return less(roomIn(node.status?.allocatable), sum(pods.map(requestsOf)));
}

/** `1340m CPU, 3.9 GiB`. */
export function roomInWords({ cpu, memory }: Room): string {
  return `${cpu}m CPU, ${(Math.floor((10 * memory) / 1024) / 10).toFixed(1)} GiB`;
}

/**
 * The number that a quantity of Kubernetes stands for: `250m` is 0.25, `1Ki` 1024.
 *
 * @throws RangeError when it is none
 */
export function quantity(text: string): number {
  const [, number, unit = "", binary] = /^([\d.]+(?:[eE][+-]?\d+)?)([numkKMGTPE]?)(i?)$/.exec(text) ?? [];
  const power = "num kMGTPE".indexOf(unit.toUpperCase() === "K" ? "k" : unit || " ") - 3;
  const value = Number(number) * (binary === "i" ? 1024 : 1000) ** power;
  if (Number.isNaN(value)) throw new RangeError(`${text} is no quantity`);
  return value;
}
