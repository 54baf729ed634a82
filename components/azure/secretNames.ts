import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";

/** Name of the previous release's join secret. */
export const joinSecret = "join";

/** Name of a pool's join secret; `suffix` as below. */
export function poolJoinSecret(pool: string, suffix: string): string {
  return `${joinSecret}-${pool}-${suffix}`;
}

/**
 * Name of the secret with logins for what machines fetch. It is in the same vault, if a stack has any.
 *
 * @param suffix random, because the secret stays in the vault when the logins are removed, and cannot be made twice.
 */
export function credentialsSecret(suffix: string): string {
  return `credentials-${suffix}`;
}

/** @param credentialsId resource id of the secret with logins, if any */
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

/** Random characters of a name unique in all of Azure. */
export const suffixLength = 8;

/**
 * 3 to 24 letters, digits and single hyphens, unique in all of Azure (Azure documentation, resource name rules).
 *
 * @param suffix random, because a deleted vault's name stays reserved for its retention time.
 */
export function vaultName(cluster: string, purpose: "ca" | "join", suffix: string): string {
  const stem = cluster.replaceAll(/-+/g, "-").slice(0, 10).replace(/-$/, "");
  return `${stem}-${purpose}-${suffix}`;
}

/** Base URI of a vault in Azure's public cloud. */
export function vaultUri(vault: string): string {
  return `https://${vault}.vault.azure.net`;
}

/** 3 to 24 lower-case letters and digits, unique in all of Azure. */
export function storageAccountName(cluster: string, purpose: "etcd" | "oidc", suffix: string): string {
  return `${cluster.replaceAll("-", "").slice(0, 12)}${purpose}${suffix}`;
}
