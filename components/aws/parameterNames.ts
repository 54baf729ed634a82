import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";
import { hasCredentials } from "../model/credentials.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";

/** A pool's join secret; without a pool, the previous release's. */
export function joinParameter(cluster: string, pool?: string): string {
  return `/fenestra/${cluster}/join${pool === undefined ? "" : `/${pool}`}`;
}

/** Logins for what machines fetch, read by workers and the control plane, if a stack has any. */
export function credentialsParameter(cluster: string): string {
  return `/fenestra/${cluster}/credentials`;
}

export function workerParameters(
  { name, credentials }: Pick<NodeSettings, "name" | "credentials">,
  pool?: string,
): WorkerSecrets {
  return {
    joinSecret: joinParameter(name, pool),
    ...(hasCredentials(credentials) ? { credentials: credentialsParameter(name) } : {}),
  };
}

export function controlPlaneParameters(cluster: string): ControlPlaneSecrets {
  const at = (name: string): string => `/fenestra/${cluster}/control-plane/${name}`;
  return {
    kubernetesCa: at("kubernetes-ca"),
    etcdCa: at("etcd-ca"),
    frontProxyCa: at("front-proxy-ca"),
    serviceAccount: at("service-account"),
    encryptionKey: at("encryption-key"),
    initialised: at("initialised"),
  };
}
