/**
 * Names by which a machine, with its own identity, fetches its secrets and reports to its cloud. Some are outputs of
 * resources on Azure, which the caller has resolved.
 */
export type CloudAccess = AwsAccess | AzureAccess;

/**
 * Names of the secrets that workers read: of SSM parameters on AWS (`/fenestra/<cluster>/join`), in the join vault on
 * Azure.
 */
export interface WorkerSecrets {
  readonly joinSecret: string;
  /** Logins for what machines fetch; absent where a stack has none. The control plane reads it too. */
  readonly credentials?: string;
}

/** A machine on AWS: SSM Parameter Store with the instance's role. */
interface AwsAccess extends WorkerSecrets {
  readonly kind: "aws";
  readonly region: string;
  /**
   * Id or ARN of the parameters' KMS key, for control-plane machines, which write them: PutParameter without `KeyId`
   * encrypts with the account's default key (AWS Systems Manager API reference, PutParameter).
   */
  readonly secretsKey?: string;
}

/** A machine on Azure: Key Vault with a user-assigned managed identity. */
export interface AzureAccess extends WorkerSecrets {
  readonly kind: "azure";
  readonly region: string;
  readonly subscriptionId: string;
  readonly resourceGroup: string;
  /** Client id of the user-assigned identity, since a machine may have several. */
  readonly clientId: string;
  /** Base URI of the vault with the join data: `https://<vault>.vault.azure.net`. */
  readonly joinVault: string;
}

function byCloud<T>(
  access: CloudAccess,
  make: { readonly aws: (access: AwsAccess) => T; readonly azure: (access: AzureAccess) => T },
): T {
  return access.kind === "aws" ? make.aws(access) : make.azure(access);
}

/** Names of the secrets that only control-plane machines read, each a certificate and its key as PEM, or one key. */
export interface ControlPlaneSecrets {
  /** Cluster CA: certificate and key. */
  readonly kubernetesCa: string;
  readonly etcdCa: string;
  readonly frontProxyCa: string;
  readonly serviceAccount: string;
  /** First encryption key of Secrets at rest: 32 bytes in base64. `encryptionSecret` names the others after it. */
  readonly encryptionKey: string;
  /** Marker, written at etcd's first quorum: once it exists, an empty disk never starts a new cluster. */
  readonly initialised: string;
}

/** What a control-plane machine needs beyond `CloudAccess`. */
export interface ControlPlaneAccess {
  readonly cloud: CloudAccess;
  readonly secrets: ControlPlaneSecrets;
  /** Base URI of the vault with the CA material on Azure; on AWS the names above are SSM parameters. */
  readonly caVault?: string;
  /**
   * Where the data volume appears: a glob or path of the block device. AWS:
   * `/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_<volume id without dash>`; Azure: `/dev/disk/azure/scsi1/lun<n>`
   * or the NVMe namespace.
   */
  readonly etcdDevice: string;
  /** Where etcd snapshots go. AWS: bucket name; Azure: URL of the blob container. */
  readonly snapshots: { readonly target: string };
}

export interface PoolAccess {
  readonly cloud: CloudAccess;
  /** Azure: tenant of the identity, which registries require. */
  readonly tenantId?: string;
  /** AWS: Auto Scaling group and its lifecycle hooks; the node completes them itself. */
  readonly lifecycle?: { readonly group: string; readonly launchHook: string; readonly terminateHook: string };
}

/** API host names, which are in certificates too. */
export interface ApiEndpoint {
  /** DNS name of the internal load balancer; every node uses it. */
  readonly host: string;
  /** DNS name of the public load balancer, if any. */
  readonly publicHost?: string;
}

/** Variables of a Linux machine by which it finds its secrets. */
export function accessEnv(access: CloudAccess): Readonly<Record<string, string>> {
  return byCloud<Readonly<Record<string, string>>>(access, {
    aws: ({ region, joinSecret, credentials, secretsKey }) => ({
      CLOUD: "aws",
      REGION: region,
      JOIN_SECRET: joinSecret,
      ...(credentials !== undefined && { CREDENTIALS_SECRET: credentials }),
      ...(secretsKey !== undefined && { SECRETS_KEY: secretsKey }),
    }),
    azure: ({ region, clientId, joinVault, joinSecret, credentials }) => ({
      CLOUD: "azure",
      REGION: region,
      CLIENT_ID: clientId,
      JOIN_SECRET: vaultSecret(joinVault, joinSecret),
      ...(credentials !== undefined && { CREDENTIALS_SECRET: vaultSecret(joinVault, credentials) }),
    }),
  });
}

/** Further variables of a control-plane machine. */
export function controllerEnv(access: CloudAccess): Readonly<Record<string, string>> {
  return byCloud<Readonly<Record<string, string>>>(access, {
    aws: () => ({}),
    azure: ({ subscriptionId, resourceGroup }) => ({ SUBSCRIPTION: subscriptionId, RESOURCE_GROUP: resourceGroup }),
  });
}

/** A secret as the machine requests it: the parameter's name on AWS, its URL on Azure. */
export function secretName(access: ControlPlaneAccess): (name: string) => string {
  return byCloud(access.cloud, {
    aws: () => (name: string) => name,
    azure: () => {
      const vault = access.caVault;
      if (vault === undefined) throw new RangeError("a control plane on Azure needs the vault of its CA material");
      return (name: string) => vaultSecret(vault, name);
    },
  });
}

/** URL of a Key Vault secret. */
function vaultSecret(vault: string, name: string): string {
  return `${vault.replace(/\/+$/, "")}/secrets/${name}`;
}

/** What the registries' plug-in reads of the machine's identity; `undefined` where it needs nothing. */
export function registryIdentity({ cloud, tenantId }: PoolAccess): object | undefined {
  return byCloud<object | undefined>(cloud, {
    aws: () => undefined,
    azure: ({ clientId }) => ({
      cloud: "AzurePublicCloud",
      tenantId,
      useManagedIdentityExtension: true,
      userAssignedIdentityID: clientId,
    }),
  });
}

/** The cloud's section of a Windows machine's settings, with the domain of AWS's services. */
export function cloudSection(access: CloudAccess) {
  return byCloud<CloudAccess>(access, { aws: (own) => ({ ...own, domain: "amazonaws.com" }), azure: (own) => own });
}
