import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import {
  accountOfArn,
  arn,
  encryptionKeyForms,
  type IdForm,
  partitionOfArn,
  regionOfArn,
} from "../../model/cloudFacts/ids.ts";
import { machineSize } from "../../model/pools.ts";
import { type Problem, refuse } from "../../model/problem.ts";
import type { StackConfig } from "../schema.ts";
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

type Home = Pick<StackConfig, "cloud" | "region" | "accountId">;

/** IAM takes policies and profiles of its own account and partition only (IAM User Guide, "ARNs"). */
function iamProblems(value: string, path: string, { cloud, region, accountId }: Home): readonly Problem[] {
  const [partition, account] = [partitionOfArn(value), accountOfArn(value)];
  const wanted = cloudFacts[cloud].regions.partition(region);
  if (partition !== undefined && wanted !== undefined && partition !== wanted)
    return refuse(path, value, `is in the partition ${partition}, and ${region} is not`, `an ARN of ${wanted}`);
  return account === undefined || accountId === undefined || account === accountId
    ? []
    : refuse(path, value, `is in the account ${account}, from which IAM takes none`, `one of ${accountId}`);
}

/** The roles' attachments are named by the policies' names. */
function policyProblems(policies: readonly string[], path: string, home: Home): readonly Problem[] {
  const names = policies.map((policy) => policy.split(":policy/")[1]);
  return policies.flatMap((policy, index) => {
    const at = `${path}[${index}]`;
    return [
      ...iamProblems(policy, at, home),
      ...(names.indexOf(names[index]) === index
        ? []
        : refuse(at, policy, "has the name of one before it", "policies whose names differ")),
    ];
  });
}

export const placementRules: Rules = {
  given: poolRule(["disk"], ["cloud", "region"], (pool, path, { cloud, region }) =>
    formProblems(encryptionKeyForms[cloud], pool.disk?.encryptionKey, `${path}.disk.encryptionKey`, region),
  ),
  controlPlaneDisks: rule(
    ["cloud", "region", "controlPlane.osDisk", "controlPlane.etcdDisk"],
    ({ cloud, region, "controlPlane.osDisk": system, "controlPlane.etcdDisk": etcd }) => {
      const [systemPath, etcdPath] = ["osDisk", "etcdDisk"].map((name) => `config.fenestra:controlPlane.${name}`);
      return [
        ...formProblems(encryptionKeyForms[cloud], system?.encryptionKey, `${systemPath}.encryptionKey`, region),
        ...formProblems(encryptionKeyForms[cloud], etcd?.encryptionKey, `${etcdPath}.encryptionKey`, region),
      ];
    },
  ),
  ofIam: rule(["cloud", "region", "accountId", "iam", "pools", "access.workloadIdentity"], (given) => [
    ...iamProblems(given.iam.permissionsBoundary ?? "", "config.fenestra:iam.permissionsBoundary", given),
    ...given.pools.flatMap(({ instanceProfile = "" }, index) =>
      iamProblems(instanceProfile, `config.fenestra:pools[${index}].instanceProfile`, given),
    ),
    ...(given["access.workloadIdentity"]?.serviceAccounts ?? []).flatMap(({ policies }, account) =>
      policyProblems(policies, `config.fenestra:access.workloadIdentity.serviceAccounts[${account}].policies`, given),
    ),
  ]),
  update: poolRule(["update"], [], ({ update: own }, path) => {
    const none = (amount: string | number | undefined) => Number.parseInt(String(amount ?? 0), 10) === 0;
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
  spot: poolRule(["spot", "onDemand"], [], ({ spot, onDemand }, path) =>
    spot || onDemand === undefined
      ? []
      : refuse(`${path}.onDemand`, onDemand, "does not go with spot: false", "nothing without spot: true"),
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
    const first = new Map<string, number>();
    return pools.flatMap((pool, index) => {
      if (!hasFields(pool, ["instanceProfile"]) || pool.instanceProfile === undefined) return [];
      const profile = pool.instanceProfile;
      const path = `config.fenestra:pools[${index}].instanceProfile`;
      const before = first.get(profile);
      if (before === undefined) {
        first.set(profile, index);
        return formProblems([arn("iam", "instance-profile/.+"), "the ARN of an instance profile"], profile, path);
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
