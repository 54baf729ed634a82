import { shares } from "./allocatable.ts";
import type { PoolSpec } from "./pools.ts";
import { quantity } from "./quantity.ts";

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
  const stays = ({ restartPolicy }: Requesting): boolean => restartPolicy === "Always";
  const rooms = [sum([...containers, ...initContainers.filter(stays)].map(each)), ...initContainers.map(each)];
  return { cpu: Math.max(...rooms.map(({ cpu }) => cpu)), memory: Math.max(...rooms.map(({ memory }) => memory)) };
}

/**
 * What a pool's node has left for pods beside its agents.
 *
 * @param daemonSets pods of the cluster's DaemonSets
 */
export function roomOf(pool: PoolSpec, daemonSets: readonly Sized[]): Room {
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
