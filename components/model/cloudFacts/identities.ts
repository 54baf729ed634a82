import { createHash } from "node:crypto";
import type { Cloud, StackConfig } from "../../config/schema.ts";
import type { ArtifactQuery } from "../artifacts.ts";
import { otherReleases, type Pinned } from "../releases.ts";

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

export const sampleAccount: ServiceAccountName = { namespace: "fenestra-samples", name: "object-reader" };

export const sampleObjectName = "samples/hello.txt";

export const sampleObjectText = "An object that only one service account may read.\n";

/** Claim `sub` of its tokens (kubernetes/kubernetes: apiserver/pkg/authentication/serviceaccount, MakeUsername). */
export function subjectOf({ namespace, name }: ServiceAccountName): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** `namespace/name`. */
export function accountKey({ namespace, name }: ServiceAccountName): string {
  return `${namespace}/${name}`;
}

/** A role's inline policy on AWS. */
export const statementsDocument = (
  statements: readonly { readonly actions: readonly string[]; readonly resources: readonly string[] }[],
) => ({
  Version: "2012-10-17",
  Statement: statements.map(({ actions, resources }, index) => ({
    Sid: `Statement${index}`,
    Effect: "Allow",
    Action: actions,
    Resource: resources,
  })),
});

/**
 * Name of a service account's role or identity, at most 56 characters: a role's has 64, eight of them Pulumi's suffix.
 * Names in Kubernetes have no underscore, so no two accounts share one.
 */
export function identityName(cluster: string, { namespace, name }: ServiceAccountName): string {
  const whole = `${cluster}-${namespace}_${name}`;
  if (whole.length <= 56) return whole;
  return `${whole.slice(0, 45)}-${createHash("sha256").update(whole).digest("hex").slice(0, 10)}`;
}

/** Variables by which a cloud's SDKs take an identity. */
export function environmentNames(cloud: Cloud): readonly string[] {
  return Object.keys(tokenFacts[cloud].environment("", ""));
}

interface TokenFacts {
  readonly audience: string;
  readonly fileVariable: string;
  readonly environment: (place: string, identity: string) => Readonly<Record<string, string>>;
}

/**
 * How each cloud takes a service account's token for an identity, by variables that its SDKs read
 * (aws/amazon-eks-pod-identity-webhook: README, pkg/handler; Azure/azure-workload-identity: pkg/webhook/consts.go).
 */
export const tokenFacts: Readonly<Record<Cloud, TokenFacts>> = {
  aws: { audience: "sts.amazonaws.com", fileVariable: "AWS_WEB_IDENTITY_TOKEN_FILE", environment: awsEnvironment },
  azure: {
    audience: "api://AzureADTokenExchange",
    fileVariable: "AZURE_FEDERATED_TOKEN_FILE",
    environment: azureEnvironment,
  },
};

export function awsEnvironment(region: string, roleArn: string): Readonly<Record<string, string>> {
  return {
    AWS_ROLE_ARN: roleArn,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_STS_REGIONAL_ENDPOINTS: "regional",
  };
}

export function azureEnvironment(tenantId: string, clientId: string): Readonly<Record<string, string>> {
  return {
    AZURE_CLIENT_ID: clientId,
    AZURE_TENANT_ID: tenantId,
    AZURE_AUTHORITY_HOST: "https://login.microsoftonline.com/",
  };
}

/**
 * A cloud's Container Credential Guard plug-in: a COM class that Windows calls for a domain account, so that a node
 * outside the domain can fetch a gMSA's password (learn.microsoft.com, ICcgDomainAuthCredentials).
 */
interface CcgPlugin {
  /** Class id, upper case without braces, as credential specifications and the registry name it. */
  readonly classId: string;
  /** How machines install it; absent where only the cloud's images have it. */
  readonly install: CcgInstall | undefined;
}

interface CcgInstall {
  readonly appId: string;
  /** The class's file in the archive. */
  readonly dll: string;
  readonly artifact: ArtifactQuery;
}

/**
 * Azure: microsoft/Azure-Key-Vault-Plugin-gMSA, registerplugin.reg. AWS: class id of the Amazon ECS Developer Guide
 * ("Using gMSA for Windows containers"); only AWS's own images have the plug-in.
 */
export const ccgPlugins: Readonly<Record<StackConfig["cloud"], CcgPlugin>> = {
  azure: {
    classId: "CCC2A336-D7F3-4818-A213-272B7924213E",
    install: {
      appId: "557110E1-88BC-4583-8281-6AAC6F708584",
      dll: "CCGAKVPlugin.dll",
      artifact: {
        name: "windows-gmsa-ccgakvplugin",
        version: otherReleases["windows-gmsa-ccgakvplugin"],
        os: "windows",
      },
    },
  },
  aws: { classId: "859E1386-BDB4-49E8-85C7-3070B13920E1", install: undefined },
};

/** How each cloud identifies the secret with the account that reads a gMSA's password. */
export const ccgSecretForms = {
  aws: {
    pattern: /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]+-[A-Za-z0-9]{6}$/,
    allowed: "the whole ARN of a secret of Secrets Manager, with its six last characters",
  },
  azure: {
    pattern:
      /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.KeyVault\/vaults\/([A-Za-z0-9-]{3,24})\/secrets\/([A-Za-z0-9-]{1,127})$/,
    allowed:
      "the resource id of a secret: /subscriptions/…/resourceGroups/…/providers/Microsoft.KeyVault/vaults/…/secrets/…",
  },
} as const;

/** URL of a Key Vault secret. @throws RangeError for an invalid id, which the config rules prevent */
function secretUri(resourceId: string): string {
  const [, vault, name] = ccgSecretForms.azure.pattern.exec(resourceId) ?? [];
  if (vault === undefined || name === undefined) throw new RangeError(`${resourceId} is not a secret of a vault`);
  return `https://${vault.toLowerCase()}.vault.azure.net/secrets/${name}`;
}

/** The plug-in's input on AWS (Amazon ECS Developer Guide, `PluginInput`): a string, never a secret. */
export function awsPluginInput(secretArn: string): string {
  return JSON.stringify({ credentialArn: secretArn });
}

/**
 * The same on Azure (microsoft/Azure-Key-Vault-Plugin-gMSA, README): object id of the identity that may read the
 * secret.
 */
export function azurePluginInput(resourceId: string, objectId: string): string {
  return `ObjectId=${objectId};SecretUri=${secretUri(resourceId)}`;
}

export function ccgSecrets(gmsa: StackConfig["addons"]["gmsa"]): readonly string[] {
  return [...new Set(gmsa?.credentialSpecs.flatMap(({ secret }) => secret ?? []))];
}

/** The distinct customer keys that encrypt those secrets. */
export function ccgKeys(gmsa: StackConfig["addons"]["gmsa"]): readonly string[] {
  return [...new Set(gmsa?.credentialSpecs.flatMap(({ kmsKey }) => kmsKey ?? []))];
}

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
  /** Characters of a list of what machines may read, with brackets and quotes. */
  readonly room: number;
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
    // A policy has 6,144, and some 350 of its own (IAM User Guide, "IAM and AWS STS quotas").
    room: 5_700,
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
    room: Number.POSITIVE_INFINITY,
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
    return [`${account}.dkr.ecr.${region}.amazonaws.com`, `${account}.dkr-ecr.${region}.on.aws`];
  });
  return [...new Set(hosts)];
}
