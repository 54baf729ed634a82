import { reservations, shares, withOwn } from "../../model/allocatable.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import type { MachineSize } from "../../model/cloudFacts/machineSizes.ts";
import { type OperatingSystemName, operatingSystem } from "../../model/operatingSystems.ts";
import { defaultDiskGb, machineSize } from "../../model/pools.ts";
import { didYouMean, type Problem, problem, refuse } from "../../model/problem.ts";
import type { Cloud, PoolConfig } from "../schema.ts";
import { poolRule, type Rules } from "./rule.ts";

/** The machine size of a pool; `undefined` when the rule `sizes` reports it. */
function usableSize(pool: Pick<PoolConfig, "size" | "capacity">, cloud: Cloud): MachineSize | undefined {
  const name = pool.size ?? cloudFacts[cloud].sizes.default;
  const size = cloudFacts[cloud].sizes.pattern.test(name) ? machineSize(cloud, name, pool.capacity) : undefined;
  return size?.arch === "amd64" ? size : undefined;
}

/** The least that operating system and kubelet need; kubeadm's documentation also requires 2 GB. */
const least = { linux: { vcpus: 1, memoryGib: 2 }, windows: { vcpus: 2, memoryGib: 4 } } as const;

function isLargeEnough({ os }: Pick<PoolConfig, "os">, { vcpus, memoryGib }: MachineSize): boolean {
  const needed = least[os === "linux" ? "linux" : "windows"];
  return vcpus >= needed.vcpus && memoryGib >= needed.memoryGib;
}

/** Where a pool can keep some of a resource from its pods. */
const keepers = {
  cpu: [
    ["kubeReserved", "cpu"],
    ["systemReserved", "cpu"],
  ],
  memory: [
    ["kubeReserved", "memory"],
    ["systemReserved", "memory"],
    ["evictionHard", "memory.available"],
  ],
  "ephemeral-storage": [
    ["kubeReserved", "ephemeral-storage"],
    ["systemReserved", "ephemeral-storage"],
    ["evictionHard", "nodefs.available"],
  ],
} as const;

export function imageProblems(
  cloud: Cloud,
  image: string,
  path: string,
  os: OperatingSystemName = "linux",
): readonly Problem[] {
  const { pattern, words, ofOther } = cloudFacts[cloud].images;
  if (image === "latest") return [];
  if (!pattern.test(image)) return refuse(path, image, "is neither latest nor a pinned image", words);
  const system = operatingSystem(os);
  return ofOther(image, system) === undefined
    ? []
    : refuse(path, image, `is no version of an image of ${system.title}`, words);
}

/**
 * Names of time zones as each system has them: the tz database, and the registry of Windows (Microsoft documentation,
 * "Default time zones").
 */
const zoneNames = {
  linux: {
    form: /^[^ ().]+$/,
    other: "of Windows",
    allowed: "a name of the tz database without spaces, such as Europe/Berlin (timedatectl list-timezones), or UTC",
  },
  windows: {
    form: /^(UTC([+-]\d\d)?|[^/]* [^/]*)$/,
    other: "of Linux",
    allowed: "a name of Windows in words, such as W. Europe Standard Time (tzutil /l), or UTC",
  },
} as const;

/** Whether the tz database has a name: Linux looks for its file, capital letters included. */
function isInTzDatabase(zone: string): boolean {
  const known = Intl.supportedValuesOf("timeZone");
  // Older names are not listed, but taken in any case.
  const likely = /^[A-Z]/.test(zone) && !known.some((each) => each.toLowerCase() === zone.toLowerCase());
  try {
    return known.includes(zone) || (likely && Intl.DateTimeFormat("en", { timeZone: zone }).format() !== "");
  } catch {
    return false;
  }
}

export const machineRules: Rules = {
  sizes: poolRule(["size", "capacity"], ["cloud"], (pool, path, { cloud }) => {
    const name = pool.size ?? cloudFacts[cloud].sizes.default;
    const size = machineSize(cloud, name, pool.capacity);
    const at = `${path}.size`;
    // With `capacity` only the name's form is checked.
    const { known, pattern, words } = cloudFacts[cloud].sizes;
    if (!pattern.test(name)) {
      const inCapitals = new RegExp(pattern.source, "i").test(name) ? "mind its capital letters" : undefined;
      return refuse(at, name, "is not a machine size", words, inCapitals);
    }
    if (size === undefined) {
      return refuse(
        at,
        name,
        "is not a machine size that Fenestra knows",
        `${known}; or any with capacity`,
        "state its processors and memory in capacity",
      );
    }
    return size.arch === "amd64" ? [] : refuse(at, name, "is an Arm size", "an x86 size: the images are x86");
  }),
  room: poolRule(["os", "size", "capacity"], ["cloud"], (pool, path, { cloud }) => {
    const size = usableSize(pool, cloud);
    if (size === undefined || isLargeEnough(pool, size)) return [];
    const [node, allowed] =
      pool.os === "linux"
        ? ["a node", "1 processor and 2 GiB at least"]
        : ["a Windows node", "2 processors and 4 GiB at least"];
    return refuse(`${path}.size`, size.name, `is too small for ${node}`, allowed);
  }),
  /**
   * A kubelet on Linux does not start with reservations above the machine (kubernetes: pkg/kubelet/cm,
   * `validateNodeAllocatable`).
   */
  roomForPods: poolRule(["os", "size", "capacity", "kubelet", "diskGb"], ["cloud"], (pool, path, { cloud }) => {
    const size = usableSize(pool, cloud);
    const { kubelet } = pool;
    if (size === undefined || kubelet === undefined || !isLargeEnough(pool, size)) return [];
    const release = operatingSystem(pool.os);
    const kept = shares({
      os: release.family,
      size,
      reservations: withOwn(reservations(release, size), kubelet),
      diskGb: pool.diskGb ?? defaultDiskGb(cloud, pool.os),
      kubelet,
    });
    return (["cpu", "memory", "ephemeral-storage"] as const).flatMap((resource) => {
      const { has, kept: sum } = kept[resource];
      if (sum < has) return [];
      const unit = resource === "cpu" ? "m" : "Mi";
      const given = keepers[resource].flatMap(([field, key]) => {
        const own: Readonly<Record<string, string | undefined>> = kubelet[field] ?? {};
        return own[key] === undefined ? [] : [{ at: `${field}["${key}"]`, value: own[key] }];
      });
      return given.map(({ at, value }) =>
        problem(
          `${path}.kubelet.${at}`,
          value,
          `leaves pods nothing of a ${size.name}: kubeReserved, systemReserved and evictionHard keep ${Math.ceil(sum)}${unit} of ${resource}`,
          `amounts that add up to less than the machine's ${Math.floor(has)}${unit}`,
          "keep less, or choose a larger machine; Mi and Gi are easily mixed up",
        ),
      );
    });
  }),
  nesting: poolRule(["os", "size", "capacity", "hyperV"], ["cloud"], (pool, path, { cloud }) => {
    const size = usableSize(pool, cloud);
    if (size === undefined || !isLargeEnough(pool, size)) return [];
    if (!pool.hyperV || pool.os === "linux" || size.nestedVirtualization) return [];
    return refuse(
      `${path}.size`,
      size.name,
      "cannot nest virtualisation, which hyperV needs",
      cloudFacts[cloud].sizes.nesting,
      pool.size === undefined ? `state a size; ${size.name} is the default` : undefined,
    );
  }),
  disk: poolRule(["os", "diskGb"], ["cloud"], ({ os, diskGb }, path, { cloud }) => {
    const { words, disks } = cloudFacts[cloud];
    const refused = (message: string, allowed: string) =>
      refuse(`${path}.diskGb`, diskGb, `${message} ${words.title}`, `${allowed} GiB`);
    if (diskGb === undefined) return [];
    if (diskGb > disks.mostGb) return refused("is more than a system disk has on", `at most ${disks.mostGb}`);
    return os !== "linux" && diskGb < disks.windowsLeastGb
      ? refused("is smaller than the Windows image on", `at least ${disks.windowsLeastGb}`)
      : [];
  }),
  image: poolRule(["image", "os"], ["cloud"], ({ image, os }, path, { cloud }) =>
    imageProblems(cloud, image, `${path}.image`, os),
  ),
  refusedSizes: poolRule(["size", "spot"], ["cloud"], (pool, path, { cloud }) => {
    const { sizes } = cloudFacts[cloud];
    const size = pool.size ?? sizes.default;
    return [sizes.diskRefusal(size), pool.spot ? sizes.spotRefusal(size) : undefined].flatMap((refusal) =>
      refusal === undefined ? [] : [{ path: `${path}.size`, value: size, ...refusal }],
    );
  }),
  timeZone: poolRule(["os", "timeZone"], [], ({ os, timeZone: zone }, path) => {
    const { form, other, allowed } = zoneNames[os === "linux" ? "linux" : "windows"];
    if (zone === undefined) return [];
    const at = `${path}.timeZone`;
    if (!form.test(zone)) {
      const message = `is no time zone of ${os}, so no machine of the pool would join; it has the form of a name ${other}`;
      return refuse(at, zone, message, allowed);
    }
    if (os !== "linux" || isInTzDatabase(zone)) return [];
    const near = didYouMean(zone, Intl.supportedValuesOf("timeZone"));
    return refuse(at, zone, "is not in the tz database: no machine of the pool would join", allowed, near);
  }),
};
