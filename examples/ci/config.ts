import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import { moreArtifacts } from "../../components/config/projectFile.ts";
import type { Cloud, StackConfig } from "../../components/config/schema.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { artifactsVariable } from "../../components/model/artifacts.ts";
import { fromJson } from "../../components/model/json.ts";
import type { Repository } from "./environments.ts";

export interface CiStack {
  /** `aws-dev`. */
  readonly stack: string;
  /** The cluster's name, with which its resources' names begin. */
  readonly cluster: string;
  readonly rolePath: string;
  /** On AWS, the ARN of the policy that bounds its roles. */
  readonly permissionsBoundary: string | undefined;
  /** The API's record that it makes in a zone of others. */
  readonly record: DnsRecord | undefined;
  /** `undefined` without workload identity. */
  readonly pods: PodGrants | undefined;
  /** The existing network that it is put into; `undefined` for one of its own. */
  readonly network: GivenNetwork | undefined;
  /** AWS: ARNs of the user's keys for disks of control-plane machines. */
  readonly diskKeys: readonly string[];
}

export interface GivenNetwork {
  readonly id: string;
  /** Azure: id of the controllers' role in it. */
  readonly controllerRole: string | undefined;
}

export interface DnsRecord {
  readonly zone: string;
  readonly name: string;
}

/** What a stack gives to pods, beside what it makes. */
export interface PodGrants {
  /** URL of the issuer; `undefined` for the cluster's own. */
  readonly issuer: string | undefined;
  /** AWS: ARNs of policies; Azure: ids of role definitions. */
  readonly rights: readonly string[];
}

/** What is set up for the stacks of one account and region. */
export interface CiSpec {
  readonly cloud: Cloud;
  readonly region: string;
  /** Account or subscription, where a stack file names one. */
  readonly accountId: string | undefined;
  readonly repository: Repository;
  readonly stacks: readonly CiStack[];
  /** ARN of GitHub's provider, where the account, which has at most one, has it already. */
  readonly oidcProviderArn: string | undefined;
}

/** A mistake in this program's config. Its message is complete. */
export class CiConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(["The config of fenestra-ci has mistakes:", ...problems.map((problem) => `  ${problem}`)].join("\n"));
    this.name = "CiConfigError";
  }
}

const digits = z.string().regex(/^\d+$/, "allowed: a number, in quotes");
const schema = z.strictObject({
  repository: z.string().regex(/^[A-Za-z0-9-]+\/[A-Za-z0-9_.-]+$/, "allowed: OWNER/NAME of a repository on GitHub"),
  repositoryIds: z.strictObject({ owner: digits, repository: digits }).optional(),
  stacks: z.array(z.string(), "allowed: a list of stacks").min(1, "allowed: at least one stack"),
  /** Folder of the stack files, seen from the folder above the project's. */
  stackDir: z.string().default("stacks"),
  oidcProviderArn: z
    .string()
    .regex(/^arn:[\w-]+:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/, "allowed: the ARN of it")
    .optional(),
});

/** Keys that Pulumi hands over as JSON text. */
const structured: readonly string[] = ["repositoryIds", "stacks"];

const prefix = "fenestra-ci:";

/**
 * @param root folder of the project. Default: that of this program
 * @throws CiConfigError with all mistakes; ConfigError for one in a stack file
 */
export function loadCiConfig(
  config: Readonly<Record<string, string>>,
  root = fileURLToPath(new URL(".", import.meta.url)),
): CiSpec {
  const own = Object.entries(config).filter(([key]) => key.startsWith(prefix));
  const values = own.map(([key, text]): [string, unknown] => {
    const name = key.slice(prefix.length);
    // The schema refuses a text that is no JSON.
    return [name, structured.includes(name) ? (fromJson(text) ?? text) : text];
  });
  const result = schema.safeParse(Object.fromEntries(values));
  if (!result.success)
    throw new CiConfigError(result.error.issues.map(({ path, message }) => `${prefix}${path.join(".")}: ${message}`));
  const { repository: name, repositoryIds: ids, stacks, stackDir, oidcProviderArn } = result.data;
  const folder = pathToFileURL(`${path.resolve(root, "..", stackDir)}/`);
  process.env[artifactsVariable] = fileURLToPath(new URL(moreArtifacts, folder));
  const files = stacks.map((stack) => ({ stack, config: loadConfig(readStackFile(stack, folder)) }));
  const places = new Set(files.map(({ config: { cloud, region, accountId } }) => `${cloud} ${region} ${accountId}`));
  const [first] = files;
  if (first === undefined || places.size > 1)
    throw new CiConfigError([
      `${prefix}stacks: they lie in different places; allowed: stacks of one cloud, region and account. Give each place a stack of this program`,
    ]);
  const clusters = files.map(({ config: { name: cluster } }) => cluster);
  const overlaps = overlapping(clusters);
  if (overlaps.length > 0)
    throw new CiConfigError([
      `${prefix}stacks: the cluster ${overlaps.join(", ")} has a name with which other names begin, or one of this program's; allowed: names that can be told apart by their beginning, and do not begin with fenestra-. Give it another name, or an account of its own`,
    ]);
  return {
    cloud: first.config.cloud,
    region: first.config.region,
    accountId: first.config.accountId,
    repository: { name, ids },
    stacks: files.map(({ stack, config }) => ciStackOf(stack, config)),
    oidcProviderArn,
  };
}

export function ciStackOf(
  stack: string,
  { name: cluster, iam, access, network: { existing }, controlPlane }: StackConfig,
): CiStack {
  const keys = [controlPlane.osDisk?.encryptionKey, controlPlane.etcdDisk?.encryptionKey];
  return {
    stack,
    cluster,
    rolePath: iam.rolePath,
    permissionsBoundary: iam.permissionsBoundary,
    record: access.dns?.zone === undefined ? undefined : { zone: access.dns.zone, name: access.dns.name },
    pods: grantsOf(access),
    network: existing && { id: existing.id, controllerRole: existing.controllerRole },
    diskKeys: [...new Set(keys)].flatMap((key) => key ?? []).sort(),
  };
}

function grantsOf({ workloadIdentity }: StackConfig["access"]): PodGrants | undefined {
  if (workloadIdentity === undefined) return undefined;
  const { issuer, serviceAccounts } = workloadIdentity;
  const rights = serviceAccounts.flatMap(({ policies, roles }) => [...policies, ...roles.map(({ role }) => role)]);
  return { issuer, rights: [...new Set(rights)].sort() };
}

/**
 * Clusters whose name begins another's, or begins with `fenestra-` as this program's do: rights are limited by
 * prefixes, and such a cluster would own the workflows' identities or the states.
 */
export function overlapping(clusters: readonly string[]): readonly string[] {
  return clusters.filter(
    (name) => `${name}-`.startsWith("fenestra-") || clusters.some((other) => other.startsWith(`${name}-`)),
  );
}
