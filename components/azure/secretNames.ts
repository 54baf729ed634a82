import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";

/** Name of the join secret of the release before. */
export const joinSecret = "join";

/** Name of a pool's join secret. `suffix` as below. */
export function poolJoinSecret(pool: string, suffix: string): string {
  return `${joinSecret}-${pool}-${suffix}`;
}

/**
 * Name of the secret with logins for what machines fetch, in the same vault. It exists where a stack has any.
 *
 * @param suffix random, because the secret stays in the vault when the logins are removed, and cannot be made a second
 * time.
 */
export function credentialsSecret(suffix: string): string {
  return `credentials-${suffix}`;
}

/**
 * Names of the secrets that workers read.
 *
 * @param credentialsId resource id of the secret with logins; `undefined` without one
 */
export function workerSecrets(joinSecret: string, credentialsId: string | undefined): WorkerSecrets {
  const credentials = credentialsId?.split("/").at(-1);
  return { joinSecret, ...(credentials === undefined ? {} : { credentials }) };
}

export const controlPlaneSecrets: ControlPlaneSecrets = {
  kubernetesCa: "kubernetes-ca",
  etcdCa: "etcd-ca",
  frontProxyCa: "front-proxy-ca",
  serviceAccount: "service-account",
  encryptionKey: "encryption-key",
  initialised: "initialised",
};

/** Characters of the random part of a name that is unique in the whole of Azure. */
export const suffixLength = 8;

/**
 * Name of a vault: 3 to 24 letters, digits and single hyphens, unique in the whole of Azure (Azure documentation,
 * resource name rules).
 *
 * @param suffix random, because the name of a deleted vault stays reserved for its retention time.
 */
export function vaultName(cluster: string, purpose: "ca" | "join", suffix: string): string {
  const stem = cluster.replaceAll(/-+/g, "-").slice(0, 10).replace(/-$/, "");
  return `${stem}-${purpose}-${suffix}`;
}

/** Base URI of a vault in Azure's public cloud. */
export function vaultUri(vault: string): string {
  return `https://${vault}.vault.azure.net`;
}

/** Name of a storage account: 3 to 24 lower-case letters and digits, unique in the whole of Azure. */
export function storageAccountName(cluster: string, purpose: "etcd" | "oidc", suffix: string): string {
  return `${cluster.replaceAll("-", "").slice(0, 12)}${purpose}${suffix}`;
}
