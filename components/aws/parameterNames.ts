import type { ControlPlaneSecrets, WorkerSecrets } from "../machine/cloudAccess.ts";
import { hasCredentials } from "../model/credentials.ts";
import type { NodeSettings } from "../model/nodeSettings.ts";

/** Name of the parameter with a pool's join secret; without a pool, with the previous release's. */
export function joinParameter(cluster: string, pool?: string): string {
  return `/fenestra/${cluster}/join${pool === undefined ? "" : `/${pool}`}`;
}

/**
 * Name of the parameter with logins for what machines fetch. It exists if a stack has any; workers and the control
 * plane read it.
 */
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
