/**
 * Values that only the machine knows when it boots. They stand in rendered files as written here, and a stage of the bootstrap fills them
 * in. None of them is ever filled into the user data.
 */
export const placeholders = {
  /** Name of the Node. AWS: the instance id; Azure: the computer name. */
  nodeName: "@NODE_NAME@",
  /** Identity for the cloud controller: `aws:///<zone>/<instance id>`, `azure:///subscriptions/...`. */
  providerId: "@PROVIDER_ID@",
  /** Primary private IPv4 address. */
  nodeIp: "@NODE_IP@",
  /** URL of the API server from the join secret. */
  apiServer: "@API_SERVER@",
  /** Cluster CA from the join secret, PEM in base64. */
  caData: "@CA_DATA@",
  /** Bootstrap token from the join secret. */
  token: "@TOKEN@",
  /** State of etcd's cluster as the membership stage found it: `new` or `existing`. */
  etcdState: "@ETCD_STATE@",
  /** Members of etcd's cluster as the membership stage found them: `name=peer URL`, comma separated. */
  etcdMembers: "@ETCD_MEMBERS@",
  /** Key of the encryption of Secrets at rest. */
  encryptionKey: "@ENCRYPTION_KEY@",
  /** The one that no machine fills in: the fingerprint of the whole payload, see `fingerprinted`. */
  payload: "@PAYLOAD@",
} as const;
