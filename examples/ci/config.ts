import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { loadConfig } from "../../components/config/load.ts";
import type { Cloud, StackConfig } from "../../components/config/schema.ts";
import { moreArtifacts, readStackFile } from "../../components/config/stackFile.ts";
import { artifactsVariable } from "../../components/model/artifacts.ts";
import { fromJson } from "../../components/model/json.ts";
import type { Repository } from "./environments.ts";

/** What bounds the rights of a stack's identities. */
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
  /** The existing network that it is put into, on Azure with the id of the controllers' role in it. */
  readonly network: { readonly id: string; readonly controllerRole: string | undefined } | undefined;
  /** AWS: ARNs of the user's keys for disks of control-plane machines. */
  readonly diskKeys: readonly string[];
}

export interface DnsRecord {
  readonly zone: string;
  readonly name: string;
}

/** What a stack gives to pods, beside what it makes. */
interface PodGrants {
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
  override readonly name = "CiConfigError";

  constructor(problems: readonly string[]) {
    super(["The config of fenestra-ci has mistakes:", ...problems].join("\n  fenestra-ci:"));
  }
}

const digits = z.string().regex(/^\d+$/, "allowed: a number, in quotes");
const schema = z.strictObject({
  repository: z.string().regex(/^[A-Za-z0-9-]+\/[A-Za-z0-9_.-]+$/, "allowed: OWNER/NAME of a repository on GitHub"),
  repositoryIds: z.strictObject({ owner: digits, repository: digits }).optional(),
  // The environment of its update would be that of another stack's preview, which nobody approves.
  stacks: z
    .array(
      z.string().regex(/^(?!preview-)/, "allowed: names without preview- before them"),
      "allowed: a list of stacks",
    )
    .min(1, "allowed: at least one stack"),
  /** Folder of the stack files, seen from the folder above the project's. */
  stackDir: z.string().default("stacks"),
  oidcProviderArn: z
    .string()
    .regex(/^arn:[\w-]+:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/, "allowed: the ARN of it")
    .optional(),
});

/**
 * @param root folder of the project. Default: that of this program
 * @throws CiConfigError with all mistakes; ConfigError for one in a stack file
 */
export function loadCiConfig(
  config: Readonly<Record<string, string>>,
  root = fileURLToPath(new URL(".", import.meta.url)),
): CiSpec {
  const values = Object.entries(config).flatMap(([key, text]) => {
    const [, name] = /^fenestra-ci:(.*)/.exec(key) ?? [];
    if (name === undefined) return [];
    // Pulumi hands these over as JSON. The schema refuses a text that is none.
    return [[name, ["repositoryIds", "stacks"].includes(name) ? (fromJson(text) ?? text) : text]];
  });
  const { error, data } = schema.safeParse(Object.fromEntries(values));
  if (error !== undefined)
    throw new CiConfigError(error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`));
  const folder = pathToFileURL(`${path.resolve(root, "..", data.stackDir)}/`);
  process.env[artifactsVariable] = fileURLToPath(new URL(moreArtifacts, folder));
  const files = data.stacks.map((stack) => ({ stack, config: loadConfig(readStackFile(stack, folder)) }));
  const places = new Set(files.map(({ config: { cloud, region, accountId } }) => `${cloud} ${region} ${accountId}`));
  const overlaps = overlapping(files.map(({ config: { name } }) => name));
  const [first] = files;
  if (first === undefined || places.size > 1)
    throw new CiConfigError([
      "stacks: they lie in different places; allowed: stacks of one cloud, region and account. Give each place a stack of this program",
    ]);
  if (overlaps.length > 0)
    throw new CiConfigError([
      `stacks: the cluster ${overlaps.join(", ")} has a name with which other names begin, or one of this program's; allowed: names that can be told apart by their beginning, and do not begin with fenestra-. Give it another name, or an account of its own`,
    ]);
  const { cloud, region, accountId } = first.config;
  return {
    ...{ cloud, region, accountId, oidcProviderArn: data.oidcProviderArn },
    repository: { name: data.repository, ids: data.repositoryIds },
    stacks: files.map(({ stack, config }) => ciStackOf(stack, config)),
  };
}

export function ciStackOf(
  stack: string,
  { name: cluster, iam, access, network: { existing }, controlPlane }: StackConfig,
): CiStack {
  const keys = [controlPlane.osDisk?.encryptionKey, controlPlane.etcdDisk?.encryptionKey];
  const { dns, workloadIdentity: pods } = access;
  const rights = pods?.serviceAccounts.flatMap(({ policies, roles }) => [
    ...policies,
    ...roles.map(({ role }) => role),
  ]);
  return {
    ...{ stack, cluster, rolePath: iam.rolePath, permissionsBoundary: iam.permissionsBoundary },
    record: dns?.zone === undefined ? undefined : { zone: dns.zone, name: dns.name },
    pods: pods && { issuer: pods.issuer, rights: [...new Set(rights)].sort() },
    network: existing && { id: existing.id, controllerRole: existing.controllerRole },
    diskKeys: [...new Set(keys)].flatMap((key) => key ?? []).sort(),
  };
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
