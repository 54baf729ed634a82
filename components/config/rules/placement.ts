import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { machineSize } from "../../model/pools.ts";
import { type Problem, problem, refuse } from "../problem.ts";
import type { PoolConfig } from "../schema.ts";
import { hasFields } from "../settings.ts";
import { arn, type Form, formProblems, forms } from "./cloudIds.ts";
import { diskRules } from "./disks.ts";
import { elsewhere, only, poolRule, type Rule, rule } from "./rule.ts";

const given = poolRule(["disk", "capacityReservation", "dedicatedHosts", "securityGroups"], ["cloud"], (pool, path, { cloud }) => [
  ...formProblems(forms[cloud].encryptionKey, pool.disk?.encryptionKey, `${path}.disk.encryptionKey`),
  ...formProblems(forms[cloud].capacityReservation, pool.capacityReservation, `${path}.capacityReservation`),
  ...formProblems(forms[cloud].dedicatedHosts, pool.dedicatedHosts, `${path}.dedicatedHosts`),
  ...pool.securityGroups.flatMap((group, index) => formProblems(forms[cloud].securityGroup, group, `${path}.securityGroups[${index}]`)),
]);

const ofOneCloud = poolRule(["furtherSizes", "onDemand", "instanceProfile", "hybridBenefit"], ["cloud"], (pool, path, { cloud }) => [
  ...elsewhere("azure", cloud, pool.hybridBenefit, `${path}.hybridBenefit`),
  ...(["furtherSizes", "onDemand", "instanceProfile"] as const).flatMap((field) =>
    elsewhere("aws", cloud, pool[field], `${path}.${field}`),
  ),
]);

const update = poolRule(["update", "maxAge"], ["cloud"], ({ update: own, maxAge }, path, { cloud }) => {
  const none = (amount: string | number | undefined): boolean => Number.parseInt(String(amount ?? 0), 10) === 0;
  const { maxSurge, maxUnavailable } = own ?? {};
  return [
    ...elsewhere("aws", cloud, maxAge, `${path}.maxAge`),
    ...elsewhere("aws", cloud, none(maxUnavailable) ? undefined : maxUnavailable, `${path}.update.maxUnavailable`),
    ...(own !== undefined && none(maxSurge) && none(maxUnavailable)
      ? refuse(`${path}.update.maxSurge`, maxSurge, "leaves no machine to begin with", "1 or more")
      : []),
  ];
});

const updateOfSpot = poolRule(["update", "spot"], [], ({ update: value, spot: isSpot }, path) =>
  isSpot && value !== undefined
    ? refuse(`${path}.update`, value, "has no effect: Azure does not roll spot machines", "nothing with spot")
    : [],
);

const iam = rule(["cloud", "iam"], ({ cloud, iam: own }) => [
  ...elsewhere("aws", cloud, own.permissionsBoundary, "config.fenestra:iam.permissionsBoundary"),
  ...elsewhere("aws", cloud, own.rolePath === "/" ? undefined : own.rolePath, "config.fenestra:iam.rolePath"),
]);

const licence = poolRule(["os", "hybridBenefit"], [], ({ os, hybridBenefit }, path) =>
  hybridBenefit && os === "linux" ? refuse(`${path}.hybridBenefit`, true, "is meant for Windows pools", "false on Linux") : [],
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
      pool[key] === undefined ? [] : refuse(`${path}.${key}`, pool[key], `does not go with spot: ${pool.spot}`, allowed),
    );
  },
);

const oneZone = poolRule(
  ["capacityReservation", "dedicatedHosts", "zones", "perZone"],
  ["cloud", "network.zones"],
  (pool, path, { cloud, "network.zones": all }) => {
    const zones = pool.zones ?? all;
    const { oneZone: forms } = cloudFacts[cloud];
    const keys = (["capacityReservation", "dedicatedHosts"] as const).filter((key) => forms[key]?.test(pool[key] ?? "") === true);
    return zones.length === 1
      ? []
      : keys.map((key) => problem(`${path}.${key}`, pool[key], "is in one zone, and the pool has more", "a pool with one zone in zones"));
  },
);

const furtherSizes = poolRule(["size", "capacity", "furtherSizes", "hyperV"], [], (pool, path): readonly Problem[] => {
  if (pool.size === undefined) return firstSizeProblems(pool, path);
  const first = machineSize("aws", pool.size, pool.capacity);
  const seen = [pool.size];
  return pool.furtherSizes.flatMap((name, index): Problem[] => {
    const at = { path: `${path}.furtherSizes[${index}]`, value: name };
    if (seen.includes(name)) return [{ ...at, message: "is listed twice", allowed: "each size once" }];
    seen.push(name);
    const size = machineSize("aws", name);
    if (size === undefined)
      return [{ ...at, message: "is not a machine size that Fenestra knows", allowed: "sizes of known processors and memory" }];
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
});

function firstSizeProblems({ size, furtherSizes: more }: Pick<PoolConfig, "size" | "furtherSizes">, path: string): readonly Problem[] {
  return size === undefined && more.length > 0
    ? refuse(`${path}.size`, undefined, "is missing", "a size, when there are furtherSizes")
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
    return refuse(
      path,
      profile,
      `is the profile of config.fenestra:pools[${before}] already`,
      "a profile for each pool: nodes of one must not have the rights of another",
    );
  });
};

/** The rules on how machines are bought, placed and named to the cloud. */
export const placementRules: readonly Rule[] = [
  given,
  ...diskRules,
  ofOneCloud,
  update,
  only("azure", updateOfSpot),
  iam,
  licence,
  spot,
  oneZone,
  only("aws", furtherSizes),
  profiles,
];
