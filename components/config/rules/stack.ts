import { sizesInWords } from "../../model/machineSizes.ts";
import { defaultSizes, machineSize } from "../../model/pools.ts";
import { knownRegions } from "../../model/regions.ts";
import { selectableVersions } from "../../model/releases.ts";
import { didYouMean } from "../didYouMean.ts";
import { childPath, type Problem } from "../problem.ts";
import type { Cloud } from "../schema.ts";
import { imageProblems, premiumDiskProblems } from "./machines.ts";
import { elsewhere, type Rule, rule } from "./rule.ts";

const key = (path: string): string => `config.fenestra:${path}`;

const version = rule(["kubernetes.version"], ({ "kubernetes.version": release }, lock) => {
  const allowed = selectableVersions(lock);
  return allowed.includes(release)
    ? []
    : [
        {
          path: key("kubernetes.version"),
          value: release,
          message: "is a Kubernetes release without artifacts in the lock file",
          allowed: `one of ${allowed.join(", ")}`,
          remedy: "choose one of these, or record its digests with `fenestra pin <version>`",
        },
      ];
});

/** A load balancer's name begins with the cluster's and must not begin with `internal-` (Elastic Load Balancing API, CreateLoadBalancer). */
const clusterName = rule(["cloud", "name"], ({ cloud, name }) =>
  cloud === "aws" && `${name}-`.startsWith("internal-")
    ? [
        {
          path: key("name"),
          value: name,
          message: "makes the name of a load balancer that AWS refuses",
          allowed: "a name that is not internal and does not begin with internal-",
        },
      ]
    : [],
);

/** How each cloud spells its regions, and an example. */
const regionForms = {
  aws: { pattern: /^[a-z]{2}(-[a-z]+)+-\d+$/, title: "AWS", example: "eu-central-1" },
  azure: { pattern: /^[a-z]+\d*$/, title: "Azure", example: "westeurope" },
} as const;

const region = rule(["cloud", "region"], ({ cloud, region: name }) => {
  const { pattern, title, example } = regionForms[cloud];
  const allowed = `the name of a region of ${title}, such as ${example}`;
  if (cloud === "aws" && /^(cn|us-iso[a-z]*|eu-iso[a-z]*)-/.test(name)) {
    const message = `is a region ${name.startsWith("cn-") ? "in China" : "of its own network"}, where endpoints have a domain that Fenestra's machines do not use`;
    return [{ path: key("region"), value: name, message, allowed }];
  }
  if (pattern.test(name)) {
    // Digits are compared separately, since clouds add numbered regions: eu-west-4 is not a mistyped eu-west-3.
    const bare = (text: string): string => text.replaceAll(/\d/g, "");
    const known = knownRegions[cloud];
    if (known.some((each) => bare(each) === bare(name))) return [];
    const remedy = didYouMean(name, known);
    return remedy === undefined ? [] : [{ path: key("region"), value: name, message: `is not a region of ${title}`, allowed, remedy }];
  }
  return [{ path: key("region"), value: name, message: `is not a region of ${title}`, allowed }];
});

const zones = rule(["cloud", "region", "network.zones"], ({ cloud, region: name, "network.zones": all }) =>
  all.flatMap((zone, index): Problem[] => {
    const path = key(`network.zones[${index}]`);
    if (all.indexOf(zone) !== index) return [{ path, value: zone, message: "is listed twice", allowed: "each zone once" }];
    if (cloud === "azure") {
      return ["1", "2", "3"].includes(zone) ? [] : [{ path, value: zone, message: "is not an Azure zone", allowed: '"1", "2" or "3"' }];
    }
    // Zones cannot be judged for an invalid region.
    const known = zone.startsWith(name) && /^[a-z]$/.test(zone.slice(name.length));
    const isRegion = knownRegions.aws.includes(name) || didYouMean(name, knownRegions.aws) === undefined;
    return known || !isRegion || !regionForms.aws.pattern.test(name)
      ? []
      : [{ path, value: zone, message: "is not a zone of the region", allowed: `${name}a, ${name}b and so on` }];
  }),
);

const account = rule(["cloud", "accountId"], ({ cloud, accountId }) => {
  if (accountId === undefined) return [];
  const aws = /^\d{12}$/.test(accountId);
  return aws === (cloud === "aws")
    ? []
    : [
        {
          path: key("accountId"),
          value: accountId,
          message: "belongs to the other cloud",
          allowed: cloud === "aws" ? "an AWS account id, 12 digits" : "an Azure subscription id",
        },
      ];
});

const controlPlaneSize = rule(["cloud", "controlPlane.size"], ({ cloud, "controlPlane.size": size }) => {
  const name = size ?? defaultSizes[cloud];
  const known = machineSize(cloud, name);
  const problems: Problem[] = [];
  if (known === undefined || known.arch !== "amd64") {
    problems.push({
      path: key("controlPlane.size"),
      value: name,
      message: known === undefined ? "is not a machine size that Fenestra knows" : "is an Arm size",
      allowed: `an x86 size: ${sizesInWords[cloud]}`,
    });
  } else if (known.vcpus < 2 || known.memoryGib < 2) {
    problems.push({
      path: key("controlPlane.size"),
      value: name,
      message: "is too small for a control plane",
      allowed: "2 processors and 2 GiB at least (kubeadm)",
    });
  }
  return cloud === "azure" ? [...problems, ...premiumDiskProblems(name, key("controlPlane.size"))] : problems;
});

const controlPlaneImage = rule(["cloud", "controlPlane.image"], ({ cloud, "controlPlane.image": image }) =>
  imageProblems(cloud, image, key("controlPlane.image")),
);

const encryptionAtHost = rule(["cloud", "encryptionAtHost"], ({ cloud, encryptionAtHost: value }) => {
  const allowed = "false on AWS, where the host encrypts every volume that Fenestra makes";
  return cloud === "aws" ? elsewhere("azure", value, key("encryptionAtHost"), allowed) : [];
});

/** Values that must be unique among issuers, and reserved names. */
const signIn = rule(["access.signIn"], ({ "access.signIn": issuers }) =>
  issuers.flatMap(({ name, issuer }, index): Problem[] => {
    const path = key(`access.signIn[${index}]`);
    const earlier = issuers.slice(0, index);
    return [
      ...(name === "system"
        ? [
            {
              path: `${path}.name`,
              value: name,
              message: "would let an issuer speak for the components of Kubernetes",
              allowed: "any other name",
            },
          ]
        : []),
      ...(earlier.some((other) => other.name === name)
        ? [{ path: `${path}.name`, value: name, message: "is the name of two issuers", allowed: "each name once" }]
        : []),
      ...(earlier.some((other) => other.issuer === issuer)
        ? [{ path: `${path}.issuer`, value: issuer, message: "is listed twice", allowed: "each issuer once" }]
        : []),
    ];
  }),
);

/** Most tags in a stack file: a resource has at most 50 on both clouds, and the program and the cloud's controllers add theirs. */
const mostTags = 40;

const tags = rule(["cloud", "tags"], ({ cloud, tags: all }) => {
  const names = Object.keys(all);
  const many: Problem[] =
    names.length > mostTags
      ? [{ path: key("tags"), value: names.length, message: "has too many tags", allowed: `at most ${mostTags}` }]
      : [];
  return [...many, ...Object.entries(all).flatMap(([name, value]) => tag(name, value, names, cloud))];
});

/** Limits that hold on both clouds, so that a stack can move: AWS 128 and 256 characters, Azure 512 and 256 with case-insensitive names. */
function tag(name: string, value: string, names: readonly string[], cloud: Cloud): readonly Problem[] {
  const path = childPath(key("tags"), name);
  const twin = names.find((other) => other.toLowerCase() === name.toLowerCase());
  const checks: readonly (readonly [boolean, string, string])[] = [
    [
      /^(fenestra:|aws:|kubernetes\.io\/cluster\/|kubernetescluster$)/i.test(name),
      "is a tag that the program or the cloud sets",
      "a name outside fenestra:, aws:, kubernetes.io/cluster/, and not KubernetesCluster",
    ],
    // Azure refuses these characters in tag names; AWS refuses "/" when instance metadata tags are on.
    [/[<>%&\\?/]/.test(name), "has a character that a cloud refuses in a name", "names without < > % & \\ ? /"],
    [name.length > 128, "has a name that is too long", "at most 128 characters"],
    // Roles are tagged too, and IAM restricts names and values to these characters (IAM API Reference, Tag).
    [
      cloud === "aws" && !/^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u.test(name + value),
      "has a character that AWS refuses in tags of roles",
      "letters, digits, spaces and _ . : / = + - @",
    ],
    [cloud === "azure" && /\p{Cc}/u.test(value), "has a control character in its value", "values on one line"],
    [value.length > 256, "has a value that is too long", "at most 256 characters"],
    [twin !== name, `differs from ${twin} by case only`, "names that differ without regard to case, as Azure compares them"],
  ];
  return checks.flatMap(([wrong, message, allowed]) => (wrong ? [{ path, value, message, allowed }] : []));
}

/**
 * Words that Azure refuses in names of resources with an endpoint: vaults, the storage account and the API's public name, all of which begin
 * with the cluster's name (Azure documentation, "Resolve reserved resource name errors"). The account's name omits the hyphens.
 */
const reservedWords = /microsoft|windows|^login/;

const reservedName = rule(["cloud", "name"], ({ cloud, name }) =>
  cloud === "azure" && (reservedWords.test(name) || reservedWords.test(name.replaceAll("-", "")))
    ? [
        {
          path: key("name"),
          value: name,
          message: "makes names of a vault and a storage account that Azure refuses: ReservedResourceName",
          allowed: "a name without microsoft and windows, hyphens not counted, that does not begin with login",
          remedy: "choose a name such as win-lab",
        },
      ]
    : [],
);

/**
 * Most tags in a stack file on Azure: private DNS zones allow only 15 each (Azure documentation, tag resources, "Limitations"), and the program
 * adds two.
 */
const mostAzureTags = 13;

const azureTags = rule(["cloud", "tags"], ({ cloud, tags: all }) => {
  const count = Object.keys(all).length;
  if (cloud !== "azure" || count <= mostAzureTags) return [];
  return [
    {
      path: key("tags"),
      value: count,
      message: "has too many tags for Azure's DNS zones",
      allowed: `at most ${mostAzureTags}`,
    },
  ];
});

/** The rules on the stack as a whole. */
export const stackRules: readonly Rule[] = [
  version,
  clusterName,
  region,
  zones,
  account,
  signIn,
  controlPlaneSize,
  controlPlaneImage,
  encryptionAtHost,
  tags,
  reservedName,
  azureTags,
];
