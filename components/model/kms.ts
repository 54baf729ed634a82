import type { Cloud } from "../config/schema.ts";

/** A key service as stack files and machines name it. */
interface KmsFacts {
  /** Name of the plug-in's program on the machine. */
  readonly program: string;
  /** How a stack file names a key. */
  readonly pattern: RegExp;
  readonly allowed: string;
}

/**
 * What differs between the clouds. An alias of AWS may lead to another key later, which could decrypt nothing (kubernetes-sigs/aws-encryption-provider,
 * README); the plug-in of Azure uses one version of a key (Azure/kubernetes-kms, docs/manual-install.md).
 */
export const kmsFacts: Readonly<Record<Cloud, KmsFacts>> = {
  aws: {
    program: "aws-encryption-provider",
    pattern: /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/,
    allowed: "the ARN of a key, no alias: arn:aws:kms:REGION:ACCOUNT:key/…",
  },
  azure: {
    program: "kubernetes-kms",
    pattern:
      /^\/subscriptions\/[0-9a-f-]{36}\/resourceGroups\/[^/]+\/providers\/Microsoft\.KeyVault\/vaults\/[A-Za-z0-9-]{3,24}\/keys\/[A-Za-z0-9-]{1,127}\/versions\/[0-9a-f]{32}$/,
    allowed:
      "the id of a version of a key: /subscriptions/…/resourceGroups/…/providers/Microsoft.KeyVault/vaults/VAULT/keys/KEY/versions/VERSION",
  },
};

/** The parts of the id of a version of a key in Key Vault, and the id of the key itself, on which a role may be given. */
export function vaultKey(id: string) {
  const [vault = "", , key = "", , version = ""] = id.split("/").slice(8);
  return { vault, key, version, id: id.slice(0, id.lastIndexOf("/versions/")) };
}
