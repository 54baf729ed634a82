import { vaultKey } from "../model/kms.ts";
import type { SecretsEncryption } from "../model/secretsEncryption.ts";
import type { ClusterResourceGroup } from "./resourceGroup.ts";
import type { Grant } from "./roles.ts";

/**
 * What the cloud controller, the disk driver, the autoscaler and the watcher of dead nodes do in Azure: on the cluster's own resource
 * group only, and never with Contributor, which may also read and change the vaults and the storage account. Creating a scale set
 * also requires the right to assign its identity; each pool grants that for its own.
 */
export function controllerGrants({ id }: ClusterResourceGroup): Readonly<Record<"machines" | "networking", Grant>> {
  return {
    machines: { role: "virtualMachineContributor", scope: id },
    networking: { role: "networkContributor", scope: id },
  };
}

/**
 * The use of keys of Secrets, each alone and not its whole vault. Versions of a key share one: Azure refuses a second assignment of the same role
 * at the same scope, whose case it ignores ("RoleAssignmentExists").
 */
export function keyGrants({ kms }: SecretsEncryption): Readonly<Record<string, Grant>> {
  return Object.fromEntries(
    kms.map(({ key: version }) => {
      const { vault, key, id } = vaultKey(version.toLowerCase());
      return [`secrets-${vault}.${key}`, { role: "keyVaultCryptoUser", scope: id }];
    }),
  );
}
