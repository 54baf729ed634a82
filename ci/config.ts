import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { loadConfig } from "../components/config/load.ts";
import { moreArtifacts } from "../components/config/projectFile.ts";
import type { Cloud, StackConfig } from "../components/config/schema.ts";
import { readStackFile } from "../components/config/stackFile.ts";
import { artifactsVariable } from "../components/model/artifacts.ts";
import { fromJson } from "../components/model/json.ts";
import type { Repository } from "./environments.ts";

export interface CiStack {
  /** `aws-dev`. */
  readonly stack: string;
  /** Name of its cluster, with which the names of its resources begin. */
  readonly cluster: string;
  readonly rolePath: string;
  /** ARN of the policy that bounds its roles on AWS. */
  readonly permissionsBoundary: string | undefined;
  /** Record of the API that it makes in a zone, which is not its own. */
  readonly record: DnsRecord | undefined;
  /** What it gives to pods; `undefined` without workload identity. */
  readonly pods: PodGrants | undefined;
  /** The network that it is put into, which a preview reads; `undefined` for one of its own. */
  readonly network: GivenNetwork | undefined;
  /** AWS: ARNs of the keys of the user's that encrypt disks of control-plane machines. */
  readonly diskKeys: readonly string[];
}

/** A network that exists already. */
export interface GivenNetwork {
  readonly id: string;
  /** Azure: name of the resource group for everything that is made. */
  readonly resourceGroup: string | undefined;
  /** Azure: id of the role that the cluster's controllers have in it. */
  readonly controllerRole: string | undefined;
}

export interface DnsRecord {
  readonly zone: string;
  readonly name: string;
}

/** What a stack gives to pods beside what it makes itself. */
export interface PodGrants {
  /** URL of the issuer; `undefined` for the cluster's own. */
  readonly issuer: string | undefined;
  /** AWS: ARNs of policies; Azure: ids of role definitions. */
  readonly rights: readonly string[];
}

/** What is set up: everything for the stacks of one account and region. */
export interface CiSpec {
  readonly cloud: Cloud;
  readonly region: string;
  /** Account id on AWS or subscription id on Azure, when the stack files name one. */
  readonly accountId: string | undefined;
  readonly repository: Repository;
  readonly stacks: readonly CiStack[];
  /** ARN of the account's identity provider of GitHub, when it is there already: an account has at most one. */
  readonly oidcProviderArn: string | undefined;
}

/** A mistake in the config of this program. Its message is complete. */
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
  /** Folder of their stack files, from the folder above the project's. */
  stackDir: z.string().default("stacks"),
  oidcProviderArn: z
    .string()
    .regex(/^arn:[\w-]+:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/, "allowed: the ARN of it")
    .optional(),
});

/** Keys that are lists or maps, which Pulumi hands over as JSON text. */
const structured: readonly string[] = ["repositoryIds", "stacks"];

const prefix = "fenestra-ci:";

/**
 * Reads the config of this program, and of each stack its own stack file, so that nothing is written down twice.
 *
 * @param config values as Pulumi hands them to a program
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
    // A text that is not JSON is left as it is, for the schema to refuse.
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

/** What the rights of a stack hang on. */
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
    network: existing && {
      id: existing.id,
      resourceGroup: existing.resourceGroup,
      controllerRole: existing.controllerRole,
    },
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
 * Clusters whose name is a prefix of another name, or could be one of this program, which all begin with `fenestra-`:
 * rights are limited by prefixes of names, and such a cluster's identity would own the identities of the workflows or
 * the states.
 */
export function overlapping(clusters: readonly string[]): readonly string[] {
  return clusters.filter(
    (name) => `${name}-`.startsWith("fenestra-") || clusters.some((other) => other.startsWith(`${name}-`)),
  );
}
