import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { machineSize } from "../../model/pools.ts";
import { childPath, didYouMean, type Problem, refuse } from "../../model/problem.ts";
import { minorOf, selectableVersions } from "../../model/releases.ts";
import type { Cloud } from "../schema.ts";
import { imageProblems } from "./machines.ts";
import { key, type Rules, repeated, rule } from "./rule.ts";

/** Most tags in a stack file: both clouds take 50, and the program and the cloud's controllers add theirs. */
const mostTags = 40;

/**
 * Both clouds' limits, so that a stack can move: AWS 128 and 256 characters, Azure 512 and 256 with case-insensitive
 * names.
 */
function tag(name: string, value: string, names: readonly string[], cloud: Cloud): readonly Problem[] {
  const path = childPath(key("tags"), name);
  const { fits, refusal, takesName } = cloudFacts[cloud].tags;
  const twin = names.find((other) => other.toLowerCase() === name.toLowerCase());
  const checks: readonly (readonly [boolean, string, string])[] = [
    [
      /^(fenestra:|aws:|kubernetes\.io\/cluster\/|kubernetescluster$)/i.test(name),
      "is a tag that the program or the cloud sets",
      "a name outside fenestra:, aws:, kubernetes.io/cluster/, and not KubernetesCluster",
    ],
    [
      // IAM compares keys without regard to case ("Duplicate tag keys found").
      !takesName && name.toLowerCase() === "name",
      "meets the tag Name that the program sets",
      "another word than name, in any case",
    ],
    // Azure refuses these characters in tag names; AWS refuses "/" when instance metadata tags are on.
    [/[<>%&\\?/]/.test(name), "has a character that a cloud refuses in a name", "names without < > % & \\ ? /"],
    [name.length > 128, "has a name that is too long", "at most 128 characters"],
    [!fits(name, value), refusal.message, refusal.allowed],
    [value.length > 256, "has a value that is too long", "at most 256 characters"],
    [
      twin !== name,
      `differs from ${twin} by case only`,
      "names that differ without regard to case, as Azure compares them",
    ],
  ];
  return checks.flatMap(([wrong, message, allowed]) => (wrong ? refuse(path, value, message, allowed) : []));
}

/** Beginnings or whole names of tags that the program and the cloud set. */
const ownTags = ["fenestra:", "fenestra_", "aws:", "kubernetes.io/", "kubernetescluster", "k8s.io/", "name"];

function ignoredTag(name: string, index: number, given: { cloud: Cloud; tags: object }): readonly Problem[] {
  const path = key(`ignoreTags[${index}]`);
  const beginning = name.replace(/\*$/, "").toLowerCase();
  const own = [...ownTags, ...Object.keys(given.tags).map((each) => each.toLowerCase())];
  const isOwn = (each: string) =>
    beginning === each ||
    (name.endsWith("*") && each.startsWith(beginning)) ||
    (/[:/_]$/.test(each) && beginning.startsWith(each));
  const { ignoresBeginnings } = cloudFacts[given.cloud].tags;
  if (own.some(isOwn)) return refuse(path, name, "is a tag that the program sets", "tags that others write");
  const allowed = ignoresBeginnings ? "names, with * at the end at most" : "whole names";
  return /["*]/.test(ignoresBeginnings ? beginning : name) ? refuse(path, name, "is no name of a tag", allowed) : [];
}

/** What keeps a control-plane machine from having a size. */
function memberSize(cloud: Cloud, path: string, name: string): readonly Problem[] {
  const { known: inWords, diskRefusal } = cloudFacts[cloud].sizes;
  const disks = diskRefusal(name);
  const known = machineSize(cloud, name);
  const refused = (message: string, allowed: string) => refuse(path, name, message, allowed);
  return [
    ...(known === undefined ? refused("is not a machine size that Fenestra knows", `an x86 size: ${inWords}`) : []),
    ...(known?.arch === "arm64" ? refused("is an Arm size", `an x86 size: ${inWords}`) : []),
    ...(known?.arch === "amd64" && (known.vcpus < 2 || known.memoryGib < 2)
      ? refused("is too small for a control plane", "2 processors and 2 GiB at least (kubeadm)")
      : []),
    ...(disks === undefined ? [] : [{ path, value: name, ...disks }]),
  ];
}

export const stackRules: Rules = {
  version: rule(["kubernetes.version"], ({ "kubernetes.version": release }, lock) => {
    const allowed = selectableVersions(lock);
    return allowed.includes(release)
      ? []
      : refuse(
          key("kubernetes.version"),
          release,
          "is a Kubernetes release without artifacts in the lock file",
          `one of ${allowed.join(", ")}`,
          allowed.some((each) => minorOf(each) === minorOf(release))
            ? `choose one of these, or record its digests: fenestra pin ${release}`
            : "choose one of these: this release of Fenestra has no other minor. A cluster of an older one is taken on by the release that made it, a minor at a time",
        );
  }),
  name: rule(["cloud", "name"], ({ cloud, name }) => {
    // The key of states on AWS, their resource group on Azure, and buckets of the workflows (cli/up/places.ts, examples/ci).
    if (/^state(-|$)/.test(name))
      return refuse(
        key("name"),
        name,
        "is the name of the place of states",
        "a name that is not state, nor begins with state-",
      );
    const refusal = cloudFacts[cloud].nameRefusal(name);
    return refusal === undefined ? [] : [{ path: key("name"), value: name, ...refusal }];
  }),
  region: rule(["cloud", "region"], ({ cloud, region: name }) => {
    const { words, regions } = cloudFacts[cloud];
    const at = { path: key("region"), value: name, allowed: regions.words };
    const refusal = regions.refusal(name);
    if (refusal !== undefined) return [{ ...at, message: refusal }];
    const message = `is not a region of ${words.title}`;
    const plain = name.toLowerCase().replaceAll(/[^a-z\d-]/g, "");
    if (!regions.pattern.test(name))
      return [{ ...at, message, ...(regions.known.includes(plain) && { remedy: `write ${plain}` }) }];
    // Clouds add numbered regions: eu-west-4 is not a mistyped eu-west-3.
    const bare = (text: string) => text.replaceAll(/\d/g, "");
    if (regions.known.some((each) => bare(each) === bare(name))) return [];
    const remedy = didYouMean(name, regions.known);
    return remedy === undefined ? [] : [{ ...at, message, remedy }];
  }),
  zones: rule(["cloud", "region", "network.zones"], ({ cloud, region: name, "network.zones": all }) => {
    const { regions, zones: form } = cloudFacts[cloud];
    const isRegion =
      regions.pattern.test(name) && (regions.known.includes(name) || didYouMean(name, regions.known) === undefined);
    return all.flatMap((zone, index) => {
      const path = key(`network.zones[${index}]`);
      if (all.indexOf(zone) !== index) return refuse(path, zone, "is listed twice", "each zone once");
      // Zones whose names begin with their region's cannot be judged for an invalid region.
      return (form.ofRegion && !isRegion) || form.pattern(name).test(zone)
        ? []
        : [{ path, value: zone, ...form.refusal(name) }];
    });
  }),
  account: rule(["cloud", "accountId"], ({ cloud, accountId }) => {
    const { pattern, words } = cloudFacts[cloud].account;
    return accountId === undefined || pattern.test(accountId)
      ? []
      : refuse(key("accountId"), accountId, "belongs to the other cloud", words);
  }),
  signIn: rule(["access.signIn"], ({ "access.signIn": issuers }) => [
    ...issuers.flatMap(({ name }, index) =>
      name === "system"
        ? refuse(
            key(`access.signIn[${index}].name`),
            name,
            "would let an issuer speak for the components of Kubernetes",
            "any other name",
          )
        : [],
    ),
    ...(["name", "issuer"] as const).flatMap((field) =>
      repeated(
        issuers.map((each) => each[field]),
        (index) => key(`access.signIn[${index}].${field}`),
        `each ${field} once`,
      ),
    ),
  ]),
  controlPlaneSize: rule(["cloud", "controlPlane.size", "controlPlane.sizes"], ({ cloud, ...given }) => [
    ...memberSize(cloud, key("controlPlane.size"), given["controlPlane.size"] ?? cloudFacts[cloud].sizes.default),
    ...Object.entries(given["controlPlane.sizes"] ?? {}).flatMap(([member, size]) =>
      memberSize(cloud, key(`controlPlane.sizes.${member}`), size),
    ),
  ]),
  members: rule(["controlPlane.generations", "controlPlane.sizes", "controlPlane.replicas"], (given) =>
    (["controlPlane.generations", "controlPlane.sizes"] as const).flatMap((setting) =>
      Object.entries(given[setting] ?? {}).flatMap(([member, value]) =>
        Number(member.slice(3)) < given["controlPlane.replicas"]
          ? []
          : refuse(
              key(`${setting}.${member}`),
              value,
              "is of no machine",
              `cp-0 to cp-${given["controlPlane.replicas"] - 1}`,
            ),
      ),
    ),
  ),
  controlPlaneImage: rule(["cloud", "controlPlane.image"], ({ cloud, "controlPlane.image": image }) =>
    imageProblems(cloud, image, key("controlPlane.image")),
  ),
  tags: rule(["cloud", "tags"], ({ cloud, tags: all }) => {
    const names = Object.keys(all);
    const bounds = [[mostTags, undefined] as const, cloudFacts[cloud].tags.most].filter((each) => each !== undefined);
    const many = bounds.flatMap(([most, of]) =>
      names.length > most
        ? refuse(
            key("tags"),
            names.length,
            `has too many tags${of === undefined ? "" : ` for ${of}`}`,
            `at most ${most}`,
          )
        : [],
    );
    return [...many, ...Object.entries(all).flatMap(([name, value]) => tag(name, value, names, cloud))];
  }),
  ignoreTags: rule(["cloud", "tags", "ignoreTags"], ({ ignoreTags, ...given }) => [
    ...ignoreTags.flatMap((name, index) => ignoredTag(name, index, given)),
    ...repeated(ignoreTags, (index) => key(`ignoreTags[${index}]`), "each name once"),
  ]),
  encryptionKeys: rule(["secretsEncryption"], ({ secretsEncryption: { keys = [] } = {} }) =>
    repeated(keys, (index) => key(`secretsEncryption.keys[${index}]`), "each key once"),
  ),
};
