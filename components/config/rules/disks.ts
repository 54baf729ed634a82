import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { defaultDiskGb } from "../../model/pools.ts";
import { type Problem, refuse } from "../problem.ts";
import type { Cloud, PoolConfig } from "../schema.ts";
import { formProblems, forms } from "./cloudIds.ts";
import { elsewhere, poolRule, type Rule, rule } from "./rule.ts";

const disk = poolRule(["os", "disk", "diskGb"], ["cloud"], ({ os, disk: own, diskGb }, path, { cloud }) =>
  diskProblems(cloud, own, `${path}.disk`, diskGb ?? defaultDiskGb(cloud, os)),
);

/**
 * Disks of the control plane. Azure's data disk stays Premium: a zone-redundant one takes no zone, and slower ones are too slow for etcd.
 */
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
    const foreign = elsewhere("aws", cloud, etcd?.type, `${etcdPath}.type`);
    return [
      ...formProblems(forms[cloud].encryptionKey, system?.encryptionKey, `${systemPath}.encryptionKey`),
      ...formProblems(forms[cloud].encryptionKey, etcd?.encryptionKey, `${etcdPath}.encryptionKey`),
      ...diskProblems(cloud, system, `${systemPath}`, systemGb),
      ...foreign,
      ...diskProblems(cloud, foreign.length === 0 ? etcd : { ...etcd, type: undefined }, `${etcdPath}`, etcdGb),
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
  const { speeds, types } = cloudFacts[cloud].disks;
  if (type !== undefined && !types.includes(type)) return refuse(`${path}.type`, type, "is a disk of the other cloud", types.join(", "));
  if (!speeds) return [...elsewhere("aws", cloud, iops, `${path}.iops`), ...elsewhere("aws", cloud, throughput, `${path}.throughput`)];
  if (type === "io2")
    return [
      ...(iops === undefined ? refuse(`${path}.iops`, undefined, "is missing", "a number, which io2 needs") : []),
      ...(throughput === undefined ? [] : refuse(`${path}.throughput`, throughput, "is not a setting of io2", "none: it follows iops")),
      ...speedProblems(type, { iops }, path, gb),
    ];
  return iops !== undefined && (iops < gp3Iops.least || iops > gp3Iops.most)
    ? refuse(`${path}.iops`, iops, "is not possible with gp3", `${gp3Iops.least} to ${gp3Iops.most}`)
    : speedProblems("gp3", { iops, throughput }, path, gb);
}

export const diskRules: readonly Rule[] = [disk, controlPlaneDisks];
