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
