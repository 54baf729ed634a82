import type { CloudFacts } from "./facts.ts";

/** Form of an ARN, in any partition. */
export const arn = (service: string, resource: string): RegExp =>
  new RegExp(`^arn:aws[a-z-]*:${service}:[a-z0-9-]*:\\d{12}:${resource}$`);

/** Form of an EC2 id: eight digits of old, seventeen today. */
export const ec2Id = (kind: string): RegExp => new RegExp(`^${kind}-([0-9a-f]{8}|[0-9a-f]{17})$`);

/** A region of Azure, which answers `West Europe` or `westeurope`. */
export const regionName = (location: string): string => location.toLowerCase().replaceAll(" ", "");

export type IdForm = readonly [pattern: RegExp, words: string];

/** How the user names a key for disks, per cloud. */
export const encryptionKeyForms: Readonly<Record<CloudFacts["name"], IdForm>> = {
  aws: [arn("kms", "key/[A-Za-z0-9-]+"), "the ARN of a KMS key, arn:aws:kms:REGION:ACCOUNT:key/…"],
  // Azure's ids ignore case (Azure documentation, naming rules and restrictions).
  azure: [
    /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.Compute\/diskEncryptionSets\/[^/]+$/i,
    "the id of a disk encryption set",
  ],
};

/** What IAM refuses by its documents alone, for stack file rules and the simulated AWS. */
export const iamLimits = {
  /** Characters of a path of IAM (IAM API Reference, CreateRole). */
  path: 512,
  /** Characters of a role's inline policies, without white space (IAM User Guide, "IAM and AWS STS quotas"). */
  inline: 10_240,
  /** The same of a managed policy and a trust policy. */
  managed: 6_144,
  trust: 2_048,
  /** Action and resource of a statement (IAM User Guide, "Grammar of the IAM JSON policy language"). */
  action: /^(\*|[a-z0-9-]+:[A-Za-z0-9*?]+)$/,
  resource: /^(\*|arn:[^:\s]+:[^:\s]+:[^:\s]*:[^:\s]*:\S+)$/,
} as const;

/** Characters as IAM counts them. */
export const policyLength = (document: string): number => document.replaceAll(/\s/g, "").length;

/** Partition of a region: `aws`, `aws-cn` or `aws-us-gov`. */
export function partition(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** The partition in an ARN. */
export const partitionOfArn = (arn: string): string | undefined => /^arn:([^:]*):/.exec(arn)?.[1];

/** The account in an ARN; AWS's own have none. */
export const accountOfArn = (arn: string): string | undefined => /^arn:[^:]*:[^:]*:[^:]*:(\d{12}):/.exec(arn)?.[1];

/** The region in an ARN, if it has one. */
export const regionOfArn = (arn: string): string | undefined => /^arn:[^:]*:[^:]*:([a-z0-9-]+):/.exec(arn)?.[1];

interface DnsZone {
  readonly subscription: string;
  readonly resourceGroup: string;
  readonly name: string;
  /** Whether only linked networks resolve its names. */
  readonly private: boolean;
}

/** The zone of an accepted resource id. @throws RangeError for anything else */
export function dnsZone(id: string): DnsZone {
  const [, subscription, resourceGroup, kind, name] =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Network\/([^/]+)\/([^/]+)$/.exec(id) ??
    [];
  if (subscription === undefined || resourceGroup === undefined || kind === undefined || name === undefined)
    throw new RangeError(`${id} is not the id of a DNS zone`);
  return { subscription, resourceGroup, name, private: kind.toLowerCase() === "privatednszones" };
}
