import listed from "./awsSizes.json" with { type: "json" };

export interface Capacity {
  readonly vcpus: number;
  readonly memoryGib: number;
}

export interface MachineSize extends Capacity {
  /** As the cloud spells it: `m7i.large`, `Standard_D2s_v5`. */
  readonly name: string;
  readonly arch: "amd64" | "arm64";
  /** Whether a Windows host of this size can run Hyper-V isolated containers. */
  readonly nestedVirtualization: boolean;
}

/** AWS families' GiB per processor. */
const awsFamilies: Readonly<Record<string, number>> = { c: 2, m: 4, r: 8 };
/**
 * First of their generations on Nitro. Before, disks have other names than a control-plane machine looks for (Amazon
 * EBS User Guide, "Amazon EBS volumes and NVMe"), and the ratio does not hold for all.
 */
const awsFamiliesSince = 5;
/**
 * First burstable generation on Nitro. T2 is refused as EBS-optimised, and its disks have other names (Amazon EC2 User
 * Guide, "Amazon EBS-optimized instances", "Nitro-based instances").
 */
const awsBurstableSince = 3;
/** Burstable AWS sizes: memory does not follow the processors. */
const awsBurstable: Readonly<Record<string, Capacity>> = {
  medium: { vcpus: 2, memoryGib: 4 },
  large: { vcpus: 2, memoryGib: 8 },
  xlarge: { vcpus: 4, memoryGib: 16 },
  "2xlarge": { vcpus: 8, memoryGib: 32 },
};
/** Most processors of a Windows machine with nested virtualisation (Amazon EC2 User Guide, nested virtualization). */
const awsMostNestedVcpus = 192;

/**
 * Reads an AWS instance type of the families c, m, r and t. `undefined` for others, for those before Nitro, and for
 * c5n, whose memory does not follow the rule. Nested virtualisation without metal exists since 2026 on C8i, M8i and R8i
 * (Amazon EC2 User Guide, nested virtualization), also with disks (d), but not on those for networks and volumes (n, b;
 * DescribeInstanceTypes, ProcessorInfo.SupportedFeatures).
 */
export function awsMachineSize(name: string): MachineSize | undefined {
  const match = /^([cmrt])(\d)([a-z]*)(-flex)?\.(medium|large|\d*xlarge)$/.exec(name);
  if (match === null || !awsSizes.has(name)) return undefined;
  const [, family = "", generation = "", attributes = "", , size = ""] = match;
  const arch = awsArch(name);
  if (family === "t") {
    const capacity = Number(generation) < awsBurstableSince ? undefined : awsBurstable[size];
    return capacity === undefined ? undefined : { name, arch, nestedVirtualization: false, ...capacity };
  }
  const ratio = awsFamilies[family];
  const vcpus = size === "medium" ? 1 : size === "large" ? 2 : 4 * Number(size.replace("xlarge", "") || "1");
  if (ratio === undefined || Number(generation) < awsFamiliesSince || name.startsWith("c5n.")) return undefined;
  return {
    name,
    arch,
    vcpus,
    memoryGib: vcpus * ratio,
    nestedVirtualization: generation === "8" && /^id?$/.test(attributes) && vcpus <= awsMostNestedVcpus,
  };
}

/** EC2's own names on the day that stands in the file (enum InstanceType of its API, by the SDK for JavaScript). */
export const awsSizes: ReadonlySet<string> = new Set(
  Object.entries(listed.sizes).flatMap(([families, sizes]) =>
    families.split(",").flatMap((family) => sizes.split(",").map((size) => `${family}.${size}`)),
  ),
);

/** Arm by name: Graviton (g behind the number), its first generation, and a Mac. */
export function awsArch(name: string): MachineSize["arch"] {
  const [, letters = "", attributes = ""] = /^([a-z]+)-?[a-z]?\d+([a-z]*)/.exec(name) ?? [];
  return attributes.includes("g") || /^(a|mac)$/.test(letters) ? "arm64" : "amd64";
}

/** GiB of Azure's B sizes before version 2, which their names do not encode (Azure documentation, B-series). */
const azureBurstable: Readonly<Record<string, number>> = {
  Standard_B1ls: 0.5,
  Standard_B1s: 1,
  Standard_B1ms: 2,
  Standard_B2s: 4,
  Standard_B2ms: 8,
  Standard_B4ms: 16,
  Standard_B8ms: 32,
  Standard_B12ms: 48,
  Standard_B16ms: 64,
  Standard_B20ms: 80,
};

/** Versions of each family at the end of 2026 (Azure documentation, "Sizes for virtual machines"). */
const azureVersions: Readonly<Record<string, readonly number[]>> = {
  B: [1, 2],
  D: [3, 4, 5, 6, 7],
  E: [3, 4, 5, 6, 7],
  F: [1, 2, 6, 7],
};

/** Azure's names: family, processors, `-` and fewer processors for licensing, features, version. */
const azureName = /^Standard_([BDEF])([1-9]\d{0,2})(?:-([1-9]\d{0,2}))?([a-z]*)(?:_v(\d))?$/;

/**
 * Reads an Azure VM size of the families B, D, E and F. `undefined` for others, and where memory does not follow from
 * the name: D and E before version 3, and E from 64 processors on before version 5, above 64 later. D and E can nest
 * virtualisation from version 3 on, AMD's (letter a) from 5 on (Azure documentation, feature support per series); Arm
 * sizes (letter p) cannot run Windows Server here.
 */
export function azureMachineSize(name: string): MachineSize | undefined {
  const match = azureName.exec(name);
  if (match === null) return undefined;
  const [, family = "", count = "", constrained, features = "", versionText = "1"] = match;
  const version = Number(versionText);
  if (!azureVersions[family]?.includes(version) || (Number(count) > 104 && version < 6)) return undefined;
  // Sizes have 1, 2 or a multiple of 4 processors, but for B10 and F10 of early versions, which are gone.
  if (Number(count) > 2 && Number(count) % 4 !== 0) return undefined;
  const memoryGib = azureMemory(name, family, Number(count), features, version);
  if (memoryGib === undefined) return undefined;
  const arch = features.includes("p") ? "arm64" : "amd64";
  const nests = (family === "D" || family === "E") && version >= (features.includes("a") ? 5 : 3);
  return {
    name,
    arch,
    vcpus: Number(constrained ?? count),
    memoryGib,
    nestedVirtualization: nests && arch === "amd64",
  };
}

/**
 * Controller of a size's disks: from version 6 on NVMe alone, as those of a few families before; SCSI where there are
 * both (Azure documentation, NVMe overview, "VM sizes"; FAQ for remote NVMe disks).
 */
export function azureController(name: string | undefined): "NVMe" | "SCSI" | undefined {
  if (name === undefined) return undefined;
  return /^Standard_(.*_v[6-9]|L.*_v4|FX.*_v2)$/i.test(name) ? "NVMe" : "SCSI";
}

function azureMemory(
  name: string,
  family: string,
  count: number,
  features: string,
  version: number,
): number | undefined {
  const low = features.includes("l");
  switch (family) {
    case "B":
      if (version === 1) return azureBurstable[name];
      // B2ts_v2 and its AMD and Arm twins have 1 GiB.
      return features.includes("t") ? 1 : count * (low ? 2 : 4);
    case "D":
      return count * (low ? 2 : 4);
    case "E":
      return count > 64 || (count === 64 && version < 5) ? undefined : count * 8;
    default:
      if (version < 6) return count * 2;
      return count * (low ? 2 : features.includes("m") ? 8 : 4);
  }
}
