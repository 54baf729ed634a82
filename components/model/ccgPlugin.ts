import type { StackConfig } from "../config/schema.ts";

/**
 * The Container Credential Guard plug-in of a cloud: a COM class that Windows asks for an account of the domain, so that a node that has not
 * joined it can fetch the password of a gMSA (learn.microsoft.com, ICcgDomainAuthCredentials).
 */
interface CcgPlugin {
  /** Class id without braces, in upper case, as credential specifications and the registry name it. */
  readonly classId: string;
  /** Id of the application that the class runs in. */
  readonly appId: string;
  /** File of the class in the archive; none where nobody publishes an archive. */
  readonly dll: string | undefined;
}

/**
 * The clouds' own plug-ins. Azure: microsoft/Azure-Key-Vault-Plugin-gMSA, registerplugin.reg. AWS: the class id is told in the Amazon ECS
 * Developer Guide ("Using gMSA for Windows containers"); the plug-in is part of AWS's own images and is published nowhere else, so its file
 * has no known name, and the application takes the class's id, as COM allows.
 */
export const ccgPlugins: Readonly<Record<StackConfig["cloud"], CcgPlugin>> = {
  azure: {
    classId: "CCC2A336-D7F3-4818-A213-272B7924213E",
    appId: "557110E1-88BC-4583-8281-6AAC6F708584",
    dll: "CCGAKVPlugin.dll",
  },
  aws: {
    classId: "859E1386-BDB4-49E8-85C7-3070B13920E1",
    appId: "859E1386-BDB4-49E8-85C7-3070B13920E1",
    dll: undefined,
  },
};

/** How each cloud names a secret with the account that reads the gMSA's password. */
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

/** Address of a secret in Key Vault by its resource id. Throws a `RangeError` for what is none, which the rules on a config rule out. */
export function secretUri(resourceId: string): string {
  const [, vault, name] = ccgSecretForms.azure.pattern.exec(resourceId) ?? [];
  if (vault === undefined || name === undefined) throw new RangeError(`${resourceId} is not a secret of a vault`);
  return `https://${vault.toLowerCase()}.vault.azure.net/secrets/${name}`;
}

/** What a plug-in is told on AWS (Amazon ECS Developer Guide, `PluginInput`): a text, and never a secret. */
export function awsPluginInput(secretArn: string): string {
  return JSON.stringify({ credentialArn: secretArn });
}

/** The same on Azure (microsoft/Azure-Key-Vault-Plugin-gMSA, README): the object id of the identity that may read the secret. */
export function azurePluginInput(resourceId: string, objectId: string): string {
  return `ObjectId=${objectId};SecretUri=${secretUri(resourceId)}`;
}

/** The secrets that the accounts of a cluster name, each once. */
export function ccgSecrets(gmsa: StackConfig["addons"]["gmsa"]): readonly string[] {
  const secrets = gmsa?.credentialSpecs.map(({ secret }) => secret) ?? [];
  return [...new Set(secrets.filter((secret) => secret !== undefined))];
}

/** The keys that encrypt those secrets, where they are not the account's own, each once. */
export function ccgKeys(gmsa: StackConfig["addons"]["gmsa"]): readonly string[] {
  const keys = gmsa?.credentialSpecs.map(({ kmsKey }) => kmsKey) ?? [];
  return [...new Set(keys.filter((key) => key !== undefined))];
}
