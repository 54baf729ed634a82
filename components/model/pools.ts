import type { KubeletSettings, windowsFields } from "../config/machineSchema.ts";
import type { Cloud, PoolConfig, StackConfig } from "../config/schema.ts";
import { type Reservations, reservations, withOwn } from "./allocatable.ts";
import { cloudFacts } from "./cloudFacts/cloudFacts.ts";
import type { MachineSize } from "./cloudFacts/machineSizes.ts";
import { type LinuxFacts, type OperatingSystem, operatingSystem, type WindowsFacts } from "./operatingSystems.ts";

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
}

/** Taint of every Windows node, as charts and documentation write it. */
export const windowsTaint: Taint = { key: "os", value: "windows", effect: "NoSchedule" };

/**
 * Label and taint key of control-plane nodes, by kubeadm's `mark-control-plane`: kubelets may not give it themselves.
 */
export const controlPlaneKey = "node-role.kubernetes.io/control-plane";

/** Label of a Windows node's build, set by its kubelet. */
export const buildLabel = "node.kubernetes.io/windows-build";

export const poolLabel = "fenestra.dev/pool";

/**
 * Label with the fingerprint of what a node's machine was created from. Pods must not select on it: it changes with
 * every payload and may differ between two groups of one pool.
 */
export const payloadLabel = "fenestra.dev/payload";

/**
 * Scheduling contract of a pool's nodes, from which labels, taints, the RuntimeClass and the autoscaler's hints all
 * derive.
 */
interface PoolScheduling {
  /** Labels passed to the kubelet (`--node-labels`). */
  readonly kubeletLabels: Readonly<Record<string, string>>;
  /** Labels that the kubelet derives from the machine. */
  readonly ownLabels: Readonly<Record<string, string>>;
  /** Lasting taints that the kubelet registers from its configuration. */
  readonly taints: readonly Taint[];
  /** RuntimeClass of this pool's Windows build; none on Linux. */
  readonly runtimeClass: RuntimeClassFacts | undefined;
}

export interface RuntimeClassFacts {
  /** `windows-2022`, with `-hyperv` for Hyper-V isolation. */
  readonly name: string;
  /** Name of containerd's runtime handler. */
  readonly handler: "runhcs-wcow-process" | "runhcs-wcow-hypervisor";
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly (Taint & { readonly operator: "Equal" })[];
}

/** Settings that a resolved pool has in another form. */
type Resolved =
  | "size"
  | "capacity"
  | "count"
  | "zones"
  | "perZone"
  | "diskGb"
  | "kubelet"
  | "os"
  | "labels"
  | "taints"
  | WindowsOnly;

type WindowsOnly = keyof typeof windowsFields;

interface CommonPool extends Readonly<Omit<PoolConfig, Resolved>> {
  readonly path: string;
  readonly size: MachineSize;
  readonly zones: readonly string[];
  readonly count: number;
  readonly diskGb: number;
  /** What is reserved on a node, with the stack file's own amounts. */
  readonly reservations: Reservations;
  readonly kubelet: KubeletSettings;
  readonly scheduling: PoolScheduling;
}

export interface LinuxPool extends CommonPool {
  readonly os: "linux";
  readonly release: LinuxFacts;
}

export interface WindowsPool extends CommonPool, Readonly<Pick<PoolConfig, WindowsOnly>> {
  readonly os: "windows";
  readonly release: WindowsFacts;
}

/** A group of identical machines in one or more zones, fully resolved and discriminated by `os`. */
export type PoolSpec = LinuxPool | WindowsPool;

const linuxDiskGb = 50;

/** Size of a pool's system disk in GiB without `diskGb`. */
export function defaultDiskGb(cloud: Cloud, os: PoolConfig["os"]): number {
  return os === "linux" ? linuxDiskGb : cloudFacts[cloud].disks.windowsGb;
}

/** A size with its capacity, from its name or else from `capacity`; `undefined` without either. */
export function machineSize(
  cloud: StackConfig["cloud"],
  name: string,
  capacity?: PoolConfig["capacity"],
): MachineSize | undefined {
  const known = cloudFacts[cloud].sizes.read(name);
  if (capacity === undefined) return known;
  return {
    name,
    arch: known?.arch ?? cloudFacts[cloud].sizes.arch(name),
    nestedVirtualization: known?.nestedVirtualization ?? false,
    ...capacity,
  };
}

/** Suffix of a zone in a name: `a` of `eu-central-1a`, `1` on Azure. */
export function zoneSuffix(zone: string): string {
  return zone.slice(-1);
}

/** Names of a pool's groups, with the zone of each if the pool is split by zone. */
export function poolGroups(
  pool: Pick<PoolConfig, "name" | "zones" | "perZone">,
  allZones: readonly string[],
): readonly { name: string; zones: readonly string[] }[] {
  const zones = pool.zones ?? allZones;
  return pool.perZone
    ? zones.map((zone) => ({ name: `${pool.name}-${zoneSuffix(zone)}`, zones: [zone] }))
    : [{ name: pool.name, zones }];
}

/** Nodes of a pool with so many groups: its count, or the autoscaler's lower bound. */
function leastNodes({ count, autoscale }: Pick<PoolConfig, "count" | "autoscale">, groups: number): number {
  return count ?? (autoscale === undefined ? 1 : autoscale.min * groups);
}

export function runtimeClass(os: OperatingSystem, isolation: "process" | "hyperv"): RuntimeClassFacts | undefined {
  if (os.family === "linux") return undefined;
  return {
    name: isolation === "hyperv" ? `${os.name}-hyperv` : os.name,
    handler: isolation === "hyperv" ? "runhcs-wcow-hypervisor" : "runhcs-wcow-process",
    nodeSelector: {
      "kubernetes.io/os": "windows",
      "kubernetes.io/arch": "amd64",
      [buildLabel]: os.build,
      ...(isolation === "hyperv" && { [hyperVLabel]: "true" }),
    },
    tolerations: [{ ...windowsTaint, operator: "Equal" }],
  };
}

const hyperVLabel = "fenestra.dev/hyperv";

/** Label of nodes with the plug-in for domain accounts without joining the domain. */
export const ccgPluginLabel = "fenestra.dev/ccg-plugin";

export function poolScheduling(
  pool: Pick<PoolConfig, "os" | "labels" | "taints" | "hyperV" | "ccgPlugin">,
  group: string,
  size: MachineSize,
): PoolScheduling {
  const os = operatingSystem(pool.os);
  const windows = os.family === "windows";
  return {
    kubeletLabels: {
      [poolLabel]: group,
      ...(pool.hyperV && { [hyperVLabel]: "true" }),
      ...(pool.ccgPlugin && { [ccgPluginLabel]: "true" }),
      ...pool.labels,
    },
    ownLabels: {
      "kubernetes.io/os": os.family,
      "kubernetes.io/arch": size.arch,
      ...(windows && { [buildLabel]: os.build }),
    },
    taints: [...(windows ? [windowsTaint] : []), ...pool.taints],
    runtimeClass: runtimeClass(os, "process"),
  };
}

/** The Windows releases that pools run, oldest first, each once. */
export function windowsBuilds(pools: readonly PoolSpec[]): readonly WindowsFacts[] {
  const builds = new Map<string, WindowsFacts>();
  for (const { os, release } of pools) if (os === "windows") builds.set(release.name, release);
  return [...builds.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The machine groups of a validated config. A pool split by zone spreads its count, the remainder over the first zones;
 * autoscaling bounds apply per zone.
 */
export function poolSpecs(config: StackConfig): readonly PoolSpec[] {
  return config.pools.flatMap((pool, index) => {
    const release = operatingSystem(pool.os);
    const size = machineSize(config.cloud, pool.size ?? cloudFacts[config.cloud].sizes.default, pool.capacity);
    if (size === undefined) throw new RangeError(`pool ${pool.name} has a machine size of unknown capacity`);
    const groups = poolGroups(pool, config.network.zones);
    const wanted = leastNodes(pool, groups.length);
    const { kubelet = {} } = pool;
    return groups.map(({ name, zones }, position): PoolSpec => {
      const common = {
        ...pool,
        name,
        path: `config.fenestra:pools[${index}]`,
        size,
        zones,
        count: Math.floor(wanted / groups.length) + (position < wanted % groups.length ? 1 : 0),
        diskGb: pool.diskGb ?? defaultDiskGb(config.cloud, pool.os),
        reservations: withOwn(reservations(release, size), kubelet),
        kubelet,
        scheduling: poolScheduling(pool, name, size),
      };
      return release.family === "linux" ? { ...common, os: "linux", release } : { ...common, os: "windows", release };
    });
  });
}

/** Name of a pool's Auto Scaling group or scale set, fixed so that user data and permissions can reference it. */
export function groupName(cluster: string, pool: string): string {
  return `${cluster}-${pool}`;
}

export function groupSize(pool: PoolSpec): {
  readonly minSize: number;
  readonly desiredCapacity: number;
  readonly maxSize: number;
} {
  return {
    minSize: pool.autoscale?.min ?? pool.count,
    desiredCapacity: pool.count,
    maxSize: pool.autoscale?.max ?? pool.count,
  };
}

/**
 * How many machines a roll may start beyond those wanted, and how many may be missing meanwhile, in whole percents of
 * the largest group, rounded up: a number means at least so many, and a surge at least one. Together at most 100, the
 * widest range that AWS takes.
 */
export function rollPercents(pool: PoolSpec): { readonly surge: number; readonly unavailable: number } {
  const most = Math.max(1, groupSize(pool).maxSize);
  const ofMachines = (count: number) => Math.min(100, Math.ceil((100 * count) / most));
  const percent = (amount: string | number) =>
    typeof amount === "number" ? ofMachines(amount) : Number.parseInt(amount, 10);
  const { maxSurge = "10%", maxUnavailable = 0 } = pool.update ?? {};
  const unavailable = percent(maxUnavailable);
  const surge = percent(maxSurge) === 0 ? 0 : Math.max(percent(maxSurge), ofMachines(1));
  return { surge: Math.min(surge, 100 - unavailable), unavailable };
}
