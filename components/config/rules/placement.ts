import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { accountOfArn, partitionOfArn, regionOfArn } from "../../model/cloudFacts/iamLimits.ts";
import { arn, type IdForm, idForms } from "../../model/cloudFacts/ids.ts";
import { defaultDiskGb, machineSize } from "../../model/pools.ts";
import { type Problem, problem, refuse } from "../../model/problem.ts";
import type { Cloud, PoolConfig } from "../schema.ts";
import { hasFields, poolRule, type Rules, rule } from "./rule.ts";

/**
 * The problem of a name that is not of its form, if there is one.
 *
 * @param region where it must be, if its name says where it is
 */
function formProblems(
  [pattern, allowed]: IdForm,
  value: string | undefined,
  path: string,
  region?: string,
): readonly Problem[] {
  if (value === undefined) return [];
  if (!pattern.test(value)) return refuse(path, value, `is not ${allowed}`, allowed);
  const own = regionOfArn(value);
  return own === undefined || region === undefined || own === region
    ? []
    : refuse(path, value, `is in ${own}, and machines take those of their region only`, `one of ${region}`);
}

/** IAM takes policies and profiles of its own account and partition only (IAM User Guide, "ARNs"). */
function iamProblems(
  value: string,
  path: string,
  { cloud, region, accountId }: { cloud: Cloud; region: string; accountId?: string | undefined },
): readonly Problem[] {
  const [partition, account] = [partitionOfArn(value), accountOfArn(value)];
  const wanted = cloudFacts[cloud].regions.partition(region);
  if (partition !== undefined && wanted !== undefined && partition !== wanted)
    return refuse(path, value, `is in the partition ${partition}, and ${region} is not`, `an ARN of ${wanted}`);
  return account === undefined || accountId === undefined || account === accountId
    ? []
    : refuse(path, value, `is in the account ${account}, from which IAM takes none`, `one of ${accountId}`);
}

/**
 * Operations per second for each GiB, and MiB/s for each operation: EC2 refuses more, and a machine then never comes
 * (Amazon EBS User Guide, General Purpose SSD and Provisioned IOPS SSD volumes).
 */
const mostIopsPerGb = { gp3: 500, io2: 1000 } as const;

const mostThroughputPerIops = 0.25;

const gp3Iops = { least: 3000, most: 80_000 } as const;

function speedProblems(
  type: "gp3" | "io2",
  { iops, throughput }: NonNullable<PoolConfig["disk"]>,
  path: string,
  gb: number,
): readonly Problem[] {
  const most = mostIopsPerGb[type] * gb;
  const fastest = mostThroughputPerIops * (iops ?? gp3Iops.least);
  return [
    ...(iops === undefined || iops <= most
      ? []
      : refuse(
          `${path}.iops`,
          iops,
          `is more than ${type} gives a disk of ${gb} GiB`,
          `at most ${most}`,
          `a disk of ${Math.ceil(iops / mostIopsPerGb[type])} GiB`,
        )),
    ...(type !== "gp3" || throughput === undefined || throughput <= fastest
      ? []
      : refuse(
          `${path}.throughput`,
          throughput,
          `is more than gp3 gives with ${iops ?? gp3Iops.least} operations per second`,
          `at most ${fastest}`,
          `iops: ${throughput / mostThroughputPerIops}`,
        )),
  ];
}

function diskProblems(cloud: Cloud, own: PoolConfig["disk"], path: string, gb: number): readonly Problem[] {
  const { type, iops, throughput } = own ?? {};
  if (!cloudFacts[cloud].disks.speeds) return [];
  if (type === "io2")
    return [
      ...(iops === undefined ? refuse(`${path}.iops`, undefined, "is missing", "a number, which io2 needs") : []),
      ...(throughput === undefined
        ? []
        : refuse(`${path}.throughput`, throughput, "is not a setting of io2", "none: it follows iops")),
      ...speedProblems(type, { iops }, path, gb),
    ];
  return iops !== undefined && (iops < gp3Iops.least || iops > gp3Iops.most)
    ? refuse(`${path}.iops`, iops, "is not possible with gp3", `${gp3Iops.least} to ${gp3Iops.most}`)
    : speedProblems("gp3", { iops, throughput }, path, gb);
}

export const placementRules: Rules = {
  given: poolRule(
    ["disk", "capacityReservation", "dedicatedHosts", "securityGroups"],
    ["cloud", "region"],
    (pool, path, { cloud, region }) => [
      ...formProblems(idForms[cloud].encryptionKey, pool.disk?.encryptionKey, `${path}.disk.encryptionKey`, region),
      ...formProblems(
        idForms[cloud].capacityReservation,
        pool.capacityReservation,
        `${path}.capacityReservation`,
        region,
      ),
      ...formProblems(idForms[cloud].dedicatedHosts, pool.dedicatedHosts, `${path}.dedicatedHosts`, region),
      ...pool.securityGroups.flatMap((group, index) =>
        formProblems(idForms[cloud].securityGroup, group, `${path}.securityGroups[${index}]`),
      ),
    ],
  ),
  disk: poolRule(["os", "disk", "diskGb"], ["cloud"], ({ os, disk: own, diskGb }, path, { cloud }) =>
    diskProblems(cloud, own, `${path}.disk`, diskGb ?? defaultDiskGb(cloud, os)),
  ),
  /** Azure's data disk stays Premium: a zone-redundant one takes no zone, and others are too slow for etcd. */
  controlPlaneDisks: rule(
    [
      "cloud",
      "region",
      "controlPlane.osDisk",
      "controlPlane.osDiskGb",
      "controlPlane.etcdDisk",
      "controlPlane.etcdDiskGb",
    ],
    ({
      cloud,
      region,
      "controlPlane.osDisk": system,
      "controlPlane.osDiskGb": systemGb,
      "controlPlane.etcdDisk": etcd,
      "controlPlane.etcdDiskGb": etcdGb,
    }) => {
      const [systemPath, etcdPath] = ["osDisk", "etcdDisk"].map((name) => `config.fenestra:controlPlane.${name}`);
      return [
        ...formProblems(idForms[cloud].encryptionKey, system?.encryptionKey, `${systemPath}.encryptionKey`, region),
        ...formProblems(idForms[cloud].encryptionKey, etcd?.encryptionKey, `${etcdPath}.encryptionKey`, region),
        ...diskProblems(cloud, system, `${systemPath}`, systemGb),
        ...diskProblems(cloud, etcd, `${etcdPath}`, etcdGb),
      ];
    },
  ),
  ofIam: rule(["cloud", "region", "accountId", "iam", "pools", "access.workloadIdentity"], (given) => [
    ...iamProblems(given.iam.permissionsBoundary ?? "", "config.fenestra:iam.permissionsBoundary", given),
    ...given.pools.flatMap(({ instanceProfile = "" }, index) =>
      iamProblems(instanceProfile, `config.fenestra:pools[${index}].instanceProfile`, given),
    ),
    ...(given["access.workloadIdentity"]?.serviceAccounts ?? []).flatMap(({ policies }, account) =>
      policies.flatMap((policy, index) => {
        const path = `config.fenestra:access.workloadIdentity.serviceAccounts[${account}].policies[${index}]`;
        const name = policy.split(":policy/")[1];
        return [
          ...iamProblems(policy, path, given),
          ...(policies.findIndex((other) => other.split(":policy/")[1] === name) === index
            ? []
            : refuse(path, policy, "has the name of one before it", "policies whose names differ")),
        ];
      }),
    ),
  ]),
  /** Reserved capacity is of shared hardware (EC2 User Guide and Azure documentation, limitations of reservations). */
  hostsOrReservation: poolRule(["capacityReservation", "dedicatedHosts"], [], (pool, path) =>
    pool.capacityReservation === undefined || pool.dedicatedHosts === undefined
      ? []
      : refuse(`${path}.dedicatedHosts`, pool.dedicatedHosts, "does not go with capacityReservation", "one of the two"),
  ),
  update: poolRule(["update"], [], ({ update: own }, path) => {
    const none = (amount: string | number | undefined): boolean => Number.parseInt(String(amount ?? 0), 10) === 0;
    const { maxSurge, maxUnavailable } = own ?? {};
    return own !== undefined && none(maxSurge) && none(maxUnavailable)
      ? refuse(`${path}.update.maxSurge`, maxSurge, "leaves no machine to begin with", "1 or more")
      : [];
  }),
  updateOfSpot: poolRule(["update", "spot"], ["cloud"], ({ update: value, spot: isSpot }, path, { cloud }) => {
    const { words, machines } = cloudFacts[cloud];
    if (!isSpot || value === undefined || machines.rollsSpot) return [];
    const message = `has no effect: ${words.title} does not roll spot machines`;
    return refuse(`${path}.update`, value, message, "nothing with spot");
  }),
  licence: poolRule(["os", "hybridBenefit"], [], ({ os, hybridBenefit }, path) =>
    hybridBenefit && os === "linux"
      ? refuse(`${path}.hybridBenefit`, true, "is meant for Windows pools", "false on Linux")
      : [],
  ),
  spot: poolRule(["spot", "onDemand", "spotMaxPrice", "capacityReservation", "dedicatedHosts"], [], (pool, path) => {
    const wanted = pool.spot
      ? (["capacityReservation", "dedicatedHosts"] as const).map((key) => [key, "nothing with spot: true"] as const)
      : (["onDemand", "spotMaxPrice"] as const).map((key) => [key, "nothing without spot: true"] as const);
    return wanted.flatMap(([key, allowed]) =>
      pool[key] === undefined
        ? []
        : refuse(`${path}.${key}`, pool[key], `does not go with spot: ${pool.spot}`, allowed),
    );
  }),
  oneZone: poolRule(
    ["capacityReservation", "dedicatedHosts", "zones", "perZone"],
    ["cloud", "network.zones"],
    (pool, path, { cloud, "network.zones": all }) => {
      const zones = pool.zones ?? all;
      const { oneZone: forms } = cloudFacts[cloud];
      const keys = (["capacityReservation", "dedicatedHosts"] as const).filter(
        (key) => forms[key]?.test(pool[key] ?? "") === true,
      );
      return zones.length === 1
        ? []
        : keys.map((key) =>
            problem(
              `${path}.${key}`,
              pool[key],
              "is in one zone, and the pool has more",
              "a pool with one zone in zones",
            ),
          );
    },
  ),
  furtherSizes: poolRule(["size", "capacity", "furtherSizes", "hyperV"], ["cloud"], (pool, path, { cloud }) => {
    if (pool.size === undefined)
      return pool.furtherSizes.length > 0
        ? refuse(`${path}.size`, undefined, "is missing", "a size, when there are furtherSizes")
        : [];
    const first = machineSize(cloud, pool.size, pool.capacity);
    const seen = [pool.size];
    return pool.furtherSizes.flatMap((name, index) => {
      const refused = (message: string, allowed: string) =>
        refuse(`${path}.furtherSizes[${index}]`, name, message, allowed);
      if (seen.includes(name)) return refused("is listed twice", "each size once");
      seen.push(name);
      const size = machineSize(cloud, name);
      if (size === undefined)
        return refused("is not a machine size that Fenestra knows", "sizes of known processors and memory");
      if (first === undefined) return [];
      const same = size.vcpus === first.vcpus && size.memoryGib === first.memoryGib && size.arch === "amd64";
      return same && (!pool.hyperV || size.nestedVirtualization)
        ? []
        : refused(
            same ? "cannot nest virtualisation, which hyperV needs" : "differs from size",
            `x86 sizes with ${first.vcpus} processors and ${first.memoryGib} GiB${pool.hyperV ? " of c8i, m8i or r8i" : ""}`,
          );
    });
  }),
  /** Two pools with one profile would have one another's rights. */
  profiles: ({ pools }) => {
    const form: IdForm = [arn("iam", "instance-profile/.+"), "the ARN of an instance profile"];
    const first = new Map<string, number>();
    return pools.flatMap((pool, index) => {
      if (!hasFields(pool, ["instanceProfile"]) || pool.instanceProfile === undefined) return [];
      const profile = pool.instanceProfile;
      const path = `config.fenestra:pools[${index}].instanceProfile`;
      const before = first.get(profile);
      if (before === undefined) {
        first.set(profile, index);
        return formProblems(form, profile, path);
      }
      return refuse(
        path,
        profile,
        `is the profile of config.fenestra:pools[${before}] already`,
        "a profile for each pool: nodes of one must not have the rights of another",
      );
    });
  },
};
