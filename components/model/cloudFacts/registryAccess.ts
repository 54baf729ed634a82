import type { Cloud, StackConfig } from "../../config/schema.ts";
import { otherReleases, type Pinned } from "../releases.ts";

interface RegistryPlugin {
  /** Its file without suffix, as the kubelet's configuration names it. */
  readonly name: string;
  readonly artifact: { readonly name: string; readonly versions: Pinned };
  /** Whether it is an archive with the file at its top. */
  readonly packed: boolean;
}

const ecrPlugin = {
  name: "ecr-credential-provider",
  artifact: { name: "ecr-credential-provider", versions: otherReleases["ecr-credential-provider"] },
  packed: false,
};
const acrArtifact = "azure-acr-credential-provider";
const acrFile = { name: acrArtifact, versions: otherReleases[acrArtifact] };

/** How machines of a cloud pull from its own registries with their identity. */
interface RegistryFacts {
  /** They implement credentialprovider.kubelet.k8s.io/v1, which every supported minor uses. */
  readonly plugin: Readonly<Record<"linux" | "windows", RegistryPlugin>>;
  /** How a stack file names what may be pulled. */
  readonly pattern: RegExp;
  readonly allowed: string;
  readonly example: string;
  /** How long the kubelet caches an answer without a duration. */
  readonly cacheDuration: string;
  /** Images for which the kubelet calls the plug-in. */
  readonly hosts: (resources: readonly string[]) => readonly string[];
}

/**
 * kubernetes/cloud-provider-aws, docs/credential_provider.md; kubernetes-sigs/cloud-provider-azure, examples of the
 * provider.
 */
export const registryFacts: Readonly<Record<Cloud, RegistryFacts>> = {
  aws: {
    plugin: { linux: ecrPlugin, windows: ecrPlugin },
    pattern: /^arn:aws[a-z-]*:ecr:([a-z0-9-]+):(\d{12}):repository\/[a-z0-9*][a-z0-9*._/-]*$/,
    allowed:
      "the ARN of repositories of ECR, * for a part of the name: arn:aws:ecr:eu-central-1:123456789012:repository/team/*",
    example: "arn:aws:ecr:eu-central-1:123456789012:repository/team/*",
    cacheDuration: "0s",
    hosts: ecrHosts,
  },
  azure: {
    plugin: {
      linux: { name: "acr-credential-provider", artifact: acrFile, packed: false },
      // Published for Windows nodes of AKS alone (Azure/AgentBaker, windowscsehelper).
      windows: { name: acrArtifact, artifact: acrFile, packed: true },
    },
    pattern:
      /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.ContainerRegistry\/registries\/[A-Za-z0-9]{5,50}$/,
    allowed:
      "the resource id of a registry: /subscriptions/…/resourceGroups/…/providers/Microsoft.ContainerRegistry/registries/…",
    example:
      "/subscriptions/00000000-0000-4000-8000-000000000000/resourceGroups/shared/providers/Microsoft.ContainerRegistry/registries/example",
    cacheDuration: "10m0s",
    hosts: () => azureHosts,
  },
};

export interface RegistryAccess {
  /** ARNs of repositories, or resource ids of registries. */
  readonly resources: readonly string[];
  /**
   * Images for which the kubelet calls the plug-in, as `matchImages` has them: one `*` matches one part of a host name.
   */
  readonly images: readonly string[];
}

export function registryAccess(config: Pick<StackConfig, "cloud" | "registryAccess">): RegistryAccess | undefined {
  if (config.registryAccess === undefined) return undefined;
  const { resources } = config.registryAccess;
  return { resources, images: registryFacts[config.cloud].hosts(resources) };
}

/** A login server may carry a suffix that the resource id does not show. */
const azureHosts = ["*.azurecr.io", "*.*.geo.azurecr.io"];

/** Hosts for the ARNs' accounts and regions, dual-stack ones included. */
function ecrHosts(arns: readonly string[]): readonly string[] {
  const hosts = arns.flatMap((arn) => {
    const [, region = "", account = ""] = registryFacts.aws.pattern.exec(arn) ?? [];
    const china = region.startsWith("cn-");
    return [
      `${account}.dkr.ecr.${region}.amazonaws.com${china ? ".cn" : ""}`,
      ...(china ? [] : [`${account}.dkr-ecr.${region}.on.aws`]),
    ];
  });
  return [...new Set(hosts)];
}
