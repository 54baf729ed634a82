import type { Cloud, StackConfig } from "../config/schema.ts";
import { type Artifact, findArtifact } from "./artifacts.ts";
import { otherReleases } from "./releases.ts";

/** How machines of a cloud pull from its own registries with their identity. */
interface RegistryFacts {
  /** Name of the kubelet's plug-in, and of its file without suffix. */
  readonly plugin: string;
  /** The plug-in in the lock file. It implements credentialprovider.kubelet.k8s.io/v1, which every supported minor uses. */
  readonly artifact: { readonly name: string; readonly version: string };
  /** How a stack file identifies what may be pulled. */
  readonly pattern: RegExp;
  readonly allowed: string;
  readonly example: string;
  /** How long the kubelet caches an answer without a duration of its own. */
  readonly cacheDuration: string;
}

/** Sources: kubernetes/cloud-provider-aws, docs/credential_provider.md; kubernetes-sigs/cloud-provider-azure, examples of the provider. */
export const registryFacts: Readonly<Record<Cloud, RegistryFacts>> = {
  aws: {
    plugin: "ecr-credential-provider",
    artifact: { name: "ecr-credential-provider", version: otherReleases["ecr-credential-provider"] },
    pattern: /^arn:aws[a-z-]*:ecr:([a-z0-9-]+):(\d{12}):repository\/[a-z0-9*][a-z0-9*._/-]*$/,
    allowed: "the ARN of repositories of ECR, * for a part of the name: arn:aws:ecr:eu-central-1:123456789012:repository/team/*",
    example: "arn:aws:ecr:eu-central-1:123456789012:repository/team/*",
    cacheDuration: "0s",
  },
  azure: {
    plugin: "acr-credential-provider",
    artifact: { name: "azure-acr-credential-provider", version: otherReleases["azure-acr-credential-provider"] },
    pattern:
      /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.ContainerRegistry\/registries\/[A-Za-z0-9]{5,50}$/,
    allowed: "the resource id of a registry: /subscriptions/…/resourceGroups/…/providers/Microsoft.ContainerRegistry/registries/…",
    example:
      "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example",
    cacheDuration: "10m0s",
  },
};

/** A plug-in's file, the only one that a machine installs. */
interface PluginFile {
  readonly url: string;
  readonly sha256: string;
}

/** Cloud registries that the workers may pull from. */
export interface RegistryAccess {
  /** ARNs of repositories, or resource ids of registries. */
  readonly resources: readonly string[];
  /** Images for which the kubelet calls the plug-in, as `matchImages` spells them: one `*` matches one part of a host name. */
  readonly images: readonly string[];
  /** The plug-in per system; `undefined` where neither the stack file nor the lock file has one. */
  readonly plugin: Readonly<Record<"linux" | "windows", PluginFile | undefined>>;
}

/** The file that machines of an operating system install: the stack file's, else the one with a digest in the lock file. */
function pluginFile(
  { cloud, registryAccess }: Pick<StackConfig, "cloud" | "registryAccess">,
  os: "linux" | "windows",
  lock: readonly Artifact[],
): PluginFile | undefined {
  const own = registryAccess?.plugin[os];
  if (own !== undefined) return own;
  const found = findArtifact(lock, { ...registryFacts[cloud].artifact, os });
  return found === undefined || found.digest === null ? undefined : { url: found.url, sha256: found.digest };
}

/** Registry access as configured. `undefined` when no registry is listed. */
export function registryAccess(
  config: Pick<StackConfig, "cloud" | "registryAccess">,
  lock: readonly Artifact[],
): RegistryAccess | undefined {
  if (config.registryAccess === undefined) return undefined;
  const { resources } = config.registryAccess;
  return {
    resources,
    images: config.cloud === "aws" ? ecrHosts(resources) : azureHosts,
    plugin: { linux: pluginFile(config, "linux", lock), windows: pluginFile(config, "windows", lock) },
  };
}

/** A registry's login server may carry a suffix that its resource id does not show. */
const azureHosts = ["*.azurecr.io", "*.*.geo.azurecr.io"];

/** Hosts for the accounts and regions in the ARNs, including the dual-stack ones. */
function ecrHosts(arns: readonly string[]): readonly string[] {
  const hosts = arns.flatMap((arn) => {
    const [, region = "", account = ""] = registryFacts.aws.pattern.exec(arn) ?? [];
    const china = region.startsWith("cn-");
    return [`${account}.dkr.ecr.${region}.amazonaws.com${china ? ".cn" : ""}`, ...(china ? [] : [`${account}.dkr-ecr.${region}.on.aws`])];
  });
  return [...new Set(hosts)];
}
