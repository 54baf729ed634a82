import type { StackConfig } from "../../config/schema.ts";
import type { ArtifactQuery } from "../artifacts.ts";
import { otherReleases } from "../releases.ts";

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
export function secretUri(resourceId: string): string {
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
  const secrets = gmsa?.credentialSpecs.map(({ secret }) => secret) ?? [];
  return [...new Set(secrets.filter((secret) => secret !== undefined))];
}

/** The distinct customer keys that encrypt those secrets. */
export function ccgKeys(gmsa: StackConfig["addons"]["gmsa"]): readonly string[] {
  const keys = gmsa?.credentialSpecs.map(({ kmsKey }) => kmsKey) ?? [];
  return [...new Set(keys.filter((key) => key !== undefined))];
}
