import { proxyLogin } from "../model/nodeSettings.ts";

/** Placeholders of what only the machine knows, at boot: a stage of the bootstrap replaces them in rendered files. */
export const placeholders = {
  /** Name of the Node. AWS: the instance id; Azure: the computer name. */
  nodeName: "@NODE_NAME@",
  /** Identity for the cloud controller: `aws:///<zone>/<instance id>`, `azure:///subscriptions/...`. */
  providerId: "@PROVIDER_ID@",
  /** Primary private IPv4 address. */
  nodeIp: "@NODE_IP@",
  apiServer: "@API_SERVER@",
  /** Cluster CA from the join secret, PEM in base64. */
  caData: "@CA_DATA@",
  token: "@TOKEN@",
  /** State of the etcd cluster by the stage `membership`: `new` or `existing`. */
  etcdState: "@ETCD_STATE@",
  /** Members by the same stage: `name=peer URL`, comma separated. */
  etcdMembers: "@ETCD_MEMBERS@",
  encryptionKey: "@ENCRYPTION_KEY@",
  /** Login of the proxy, `user:password` as part of a URL, from the secret with logins. */
  proxyLogin: `@${proxyLogin}@`,
  /** The only one that no machine fills in, but `fingerprinted`. */
  payload: "@PAYLOAD@",
} as const;

/**
 * The kubeconfig with which a worker's kubelet requests its first certificate; the stage `join` fills it in. JSON,
 * which is valid YAML.
 */
export function bootstrapKubeconfig(): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "cluster",
        cluster: { server: placeholders.apiServer, "certificate-authority-data": placeholders.caData },
      },
    ],
    users: [{ name: "bootstrap", user: { token: placeholders.token } }],
    contexts: [{ name: "bootstrap", context: { cluster: "cluster", user: "bootstrap" } }],
    "current-context": "bootstrap",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
