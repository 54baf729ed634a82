import type { ControlPlaneSecrets } from "../machine/cloudAccess.ts";

/** Name of the parameter with the join secret, the only one that workers read. */
export function joinParameter(cluster: string): string {
  return `/fenestra/${cluster}/join`;
}

/** Names of the parameters of the control plane. */
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
