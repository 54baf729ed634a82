import { defaultDiskGb, machineSize } from "../../model/pools.ts";
import { diskTypes } from "../machineSchema.ts";
import type { Problem } from "../problem.ts";
import type { Cloud, PoolConfig } from "../schema.ts";
import { hasFields } from "../settings.ts";
import { elsewhere, poolRule, type Rule, rule } from "./rule.ts";

/** Form of the name of something in AWS, in any partition. */
const arn = (service: string, resource: string): RegExp =>
  new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]*:\\d{12}:${resource}$`);

/** Form of the id of something in Azure, which ignores case (Azure documentation, naming rules and restrictions). */
const azureId = (type: string): RegExp =>
  new RegExp(`^/subscriptions/[0-9a-f-]{36}/resourceGroups/[^/]+/providers/${type.replace(".", "\\.")}/[^/]+$`, "i");

type Form = readonly [pattern: RegExp, words: string];

/** How the user names things that exist already, per cloud. */
const forms: Readonly<
  Record<Cloud, Readonly<Record<"encryptionKey" | "capacityReservation" | "dedicatedHosts" | "securityGroup", Form>>>
> = {
  aws: {
    encryptionKey: [arn("kms", "key/[A-Za-z0-9-]+"), "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/…"],
    capacityReservation: [
      new RegExp(`^cr-[0-9a-f]{8,17}$|${arn("resource-groups", "group/.+").source}`),
      "the id of a capacity reservation, cr-…, or the ARN of a resource group of them",
    ],
    dedicatedHosts: [arn("resource-groups", "group/.+"), "the ARN of a host resource group"],
    securityGroup: [/^sg-[0-9a-f]{8,17}$/, "the id of a security group, sg-…"],
  },
  azure: {
    encryptionKey: [azureId("Microsoft.Compute/diskEncryptionSets"), "the id of a disk encryption set"],
    capacityReservation: [
      azureId("Microsoft.Compute/capacityReservationGroups"),
      "the id of a capacity reservation group",
    ],
    dedicatedHosts: [azureId("Microsoft.Compute/hostGroups"), "the id of a group of dedicated hosts"],
    securityGroup: [azureId("Microsoft.Network/applicationSecurityGroups"), "the id of an application security group"],
  },
};

function formProblems([pattern, allowed]: Form, value: string | undefined, path: string): readonly Problem[] {
  return value === undefined || pattern.test(value)
    ? []
    : [{ path, value, message: "is no such name in this cloud", allowed }];
}

const given = poolRule(
  ["disk", "capacityReservation", "dedicatedHosts", "securityGroups"],
  ["cloud"],
  (pool, path, { cloud }) => [
    ...formProblems(forms[cloud].encryptionKey, pool.disk?.encryptionKey, `${path}.disk.encryptionKey`),
    ...formProblems(forms[cloud].capacityReservation, pool.capacityReservation, `${path}.capacityReservation`),
    ...formProblems(forms[cloud].dedicatedHosts, pool.dedicatedHosts, `${path}.dedicatedHosts`),
    ...pool.securityGroups.flatMap((group, index) =>
      formProblems(forms[cloud].securityGroup, group, `${path}.securityGroups[${index}]`),
    ),
  ],
);

const disk = poolRule(["os", "disk", "diskGb"], ["cloud"], ({ os, disk: own, diskGb }, path, { cloud }) =>
  diskProblems(cloud, own, `${path}.disk`, diskGb ?? defaultDiskGb(cloud, os)),
);

/** Disks of the control plane. Azure's data disk stays Premium: a zone-redundant one takes no zone, and slower ones are too slow for etcd. */
const controlPlaneDisks = rule(
  ["cloud", "controlPlane.osDisk", "controlPlane.osDiskGb", "controlPlane.etcdDisk", "controlPlane.etcdDiskGb"],
  ({
    cloud,
    "controlPlane.osDisk": system,
    "controlPlane.osDiskGb": systemGb,
    "controlPlane.etcdDisk": etcd,
    "controlPlane.etcdDiskGb": etcdGb,
  }) => {
    const [systemPath, etcdPath] = ["osDisk", "etcdDisk"].map((name) => `config.fenestra:controlPlane.${name}`);
    return [
      ...formProblems(forms[cloud].encryptionKey, system?.encryptionKey, `${systemPath}.encryptionKey`),
      ...formProblems(forms[cloud].encryptionKey, etcd?.encryptionKey, `${etcdPath}.encryptionKey`),
      ...diskProblems(cloud, system, `${systemPath}`, systemGb),
      ...(cloud === "azure" ? elsewhere("aws", etcd?.type, `${etcdPath}.type`) : []),
      ...diskProblems(cloud, cloud === "azure" ? { ...etcd, type: undefined } : etcd, `${etcdPath}`, etcdGb),
    ];
  },
);

/**
 * Operations per second for each GiB, and MiB/s for each operation: EC2 refuses more when it makes the disk, and a machine then never comes
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
      : [
          {
            path: `${path}.iops`,
            value: iops,
            message: `is more than ${type} gives a disk of ${gb} GiB`,
            allowed: `at most ${most}`,
            remedy: `a disk of ${Math.ceil(iops / mostIopsPerGb[type])} GiB`,
          },
        ]),
    ...(type !== "gp3" || throughput === undefined || throughput <= fastest
      ? []
      : [
          {
            path: `${path}.throughput`,
            value: throughput,
            message: `is more than gp3 gives with ${iops ?? gp3Iops.least} operations per second`,
            allowed: `at most ${fastest}`,
            remedy: `iops: ${throughput / mostThroughputPerIops}`,
          },
        ]),
  ];
}

function diskProblems(cloud: Cloud, own: PoolConfig["disk"], path: string, gb: number): readonly Problem[] {
  const { type, iops, throughput } = own ?? {};
  const types: readonly string[] = diskTypes[cloud];
  if (type !== undefined && !types.includes(type))
    return [{ path: `${path}.type`, value: type, message: "is a disk of the other cloud", allowed: types.join(", ") }];
  if (cloud === "azure")
    return [...elsewhere("aws", iops, `${path}.iops`), ...elsewhere("aws", throughput, `${path}.throughput`)];
  if (type === "io2")
    return [
      ...(iops === undefined
        ? [{ path: `${path}.iops`, value: undefined, message: "is missing", allowed: "a number, which io2 needs" }]
        : []),
      ...(throughput === undefined
        ? []
        : [
            {
              path: `${path}.throughput`,
              value: throughput,
              message: "is not a setting of io2",
              allowed: "none: it follows iops",
            },
          ]),
      ...speedProblems(type, { iops }, path, gb),
    ];
  return iops !== undefined && (iops < gp3Iops.least || iops > gp3Iops.most)
    ? [
        {
          path: `${path}.iops`,
          value: iops,
          message: "is not possible with gp3",
          allowed: `${gp3Iops.least} to ${gp3Iops.most}`,
        },
      ]
    : speedProblems("gp3", { iops, throughput }, path, gb);
}

const ofOneCloud = poolRule(
  ["furtherSizes", "onDemand", "instanceProfile", "hybridBenefit"],
  ["cloud"],
  (pool, path, { cloud }) =>
    cloud === "aws"
      ? elsewhere("azure", pool.hybridBenefit, `${path}.hybridBenefit`)
      : [
          ...elsewhere("aws", pool.furtherSizes, `${path}.furtherSizes`),
          ...elsewhere("aws", pool.onDemand, `${path}.onDemand`),
          ...elsewhere("aws", pool.instanceProfile, `${path}.instanceProfile`),
        ],
);

const iam = rule(["cloud", "iam"], ({ cloud, iam: own }) =>
  cloud === "aws"
    ? []
    : [
        ...elsewhere("aws", own.permissionsBoundary, "config.fenestra:iam.permissionsBoundary"),
        ...elsewhere("aws", own.rolePath === "/" ? undefined : own.rolePath, "config.fenestra:iam.rolePath"),
      ],
);

const licence = poolRule(["os", "hybridBenefit"], [], ({ os, hybridBenefit }, path) =>
  hybridBenefit && os === "linux"
    ? [{ path: `${path}.hybridBenefit`, value: true, message: "is meant for Windows pools", allowed: "false on Linux" }]
    : [],
);

/** What is bought as spot, and what is given for spot only. */
const spot = poolRule(
  ["spot", "onDemand", "spotMaxPrice", "capacityReservation", "dedicatedHosts"],
  [],
  (pool, path): readonly Problem[] => {
    const wanted = pool.spot
      ? (["capacityReservation", "dedicatedHosts"] as const).map((key) => [key, "nothing with spot: true"] as const)
      : (["onDemand", "spotMaxPrice"] as const).map((key) => [key, "nothing without spot: true"] as const);
    return wanted.flatMap(([key, allowed]) =>
      pool[key] === undefined
        ? []
        : [{ path: `${path}.${key}`, value: pool[key], message: `does not go with spot: ${pool.spot}`, allowed }],
    );
  },
);

/** A reservation by its id and a group of hosts are in one zone (Amazon EC2 User Guide, Capacity Reservations; Azure REST API, host groups). */
const oneZone = poolRule(
  ["capacityReservation", "dedicatedHosts", "zones", "perZone"],
  ["cloud", "network.zones"],
  (pool, path, { cloud, "network.zones": all }) => {
    const zones = pool.zones ?? all;
    const keys: readonly ("capacityReservation" | "dedicatedHosts")[] = [
      ...(cloud === "aws" && pool.capacityReservation?.startsWith("cr-") === true
        ? (["capacityReservation"] as const)
        : []),
      ...(cloud === "azure" && pool.dedicatedHosts !== undefined ? (["dedicatedHosts"] as const) : []),
    ];
    return zones.length === 1
      ? []
      : keys.map((key) => ({
          path: `${path}.${key}`,
          value: pool[key],
          message: "is in one zone, and the pool has more",
          allowed: "a pool with one zone in zones",
        }));
  },
);

const furtherSizes = poolRule(
  ["size", "capacity", "furtherSizes", "hyperV"],
  ["cloud"],
  (pool, path, { cloud }): readonly Problem[] => {
    if (cloud !== "aws" || pool.size === undefined) return firstSizeProblems(pool, path);
    const first = machineSize(cloud, pool.size, pool.capacity);
    const seen = [pool.size];
    return pool.furtherSizes.flatMap((name, index): Problem[] => {
      const at = { path: `${path}.furtherSizes[${index}]`, value: name };
      if (seen.includes(name)) return [{ ...at, message: "is listed twice", allowed: "each size once" }];
      seen.push(name);
      const size = machineSize(cloud, name);
      if (size === undefined)
        return [
          {
            ...at,
            message: "is not a machine size that Fenestra knows",
            allowed: "sizes of known processors and memory",
          },
        ];
      if (first === undefined) return [];
      const same = size.vcpus === first.vcpus && size.memoryGib === first.memoryGib && size.arch === "amd64";
      const nests = !pool.hyperV || size.nestedVirtualization;
      return same && nests
        ? []
        : [
            {
              ...at,
              message: same ? "cannot nest virtualisation, which hyperV needs" : "differs from size",
              allowed: `x86 sizes with ${first.vcpus} processors and ${first.memoryGib} GiB${pool.hyperV ? " of c8i, m8i or r8i" : ""}`,
            },
          ];
    });
  },
);

function firstSizeProblems(
  { size, furtherSizes: more }: Pick<PoolConfig, "size" | "furtherSizes">,
  path: string,
): readonly Problem[] {
  return size === undefined && more.length > 0
    ? [
        {
          path: `${path}.size`,
          value: undefined,
          message: "is missing",
          allowed: "a size, when there are furtherSizes",
        },
      ]
    : [];
}

/** Two pools with one profile would have one another's rights. */
const profiles: Rule = ({ pools }) => {
  const form: Form = [arn("iam", "instance-profile/.+"), "the ARN of an instance profile"];
  const first = new Map<string, number>();
  return pools.flatMap((pool, index): readonly Problem[] => {
    if (!hasFields(pool, ["instanceProfile"]) || pool.instanceProfile === undefined) return [];
    const profile = pool.instanceProfile;
    const path = `config.fenestra:pools[${index}].instanceProfile`;
    const before = first.get(profile);
    if (before === undefined) {
      first.set(profile, index);
      return formProblems(form, profile, path);
    }
    return [
      {
        path,
        value: profile,
        message: `is the profile of config.fenestra:pools[${before}] already`,
        allowed: "a profile for each pool: nodes of one must not have the rights of another",
      },
    ];
  });
};

/** The rules on how machines are bought, placed and named to the cloud. */
export const placementRules: readonly Rule[] = [
  given,
  disk,
  controlPlaneDisks,
  ofOneCloud,
  iam,
  licence,
  spot,
  oneZone,
  furtherSizes,
  profiles,
];
