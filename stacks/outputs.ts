import * as pulumi from "@pulumi/pulumi";
import type { Attachment as AwsAttachment } from "../components/aws/attachment.ts";
import type { Attachment as AzureAttachment } from "../components/azure/attachment.ts";
import { withoutLogins } from "../components/config/encrypted.ts";
import type { IssuerConfig, StackConfig } from "../components/config/schema.ts";
import { apiUrl } from "../components/gates/adminClient.ts";
import type { ClusterResources } from "../components/model/clusterResources.ts";
import type { ClusterSpec } from "../components/model/clusterSpec.ts";
import type { PoolSpec } from "../components/model/pools.ts";
import { discoveryDocument, keySet } from "../components/model/serviceAccountKeys.ts";
import { signInKubeconfig } from "../components/pki/kubeconfig.ts";

interface PoolOutput {
  /** Name of the pool, which is also the value of its nodes' label `fenestra.dev/pool`. */
  readonly name: string;
  /** Operating system as the stack file names it. */
  readonly os: string;
  readonly group: pulumi.Output<string>;
}

/** The issuer of tokens of service accounts, and who has rights by them. */
interface WorkloadIdentityOutput {
  readonly issuer: pulumi.Output<string>;
  /** The document at `/.well-known/openid-configuration` below it. */
  readonly discovery: pulumi.Output<string>;
  /** The document at `/openid/v1/jwks` below it. */
  readonly keySet: pulumi.Output<string>;
  /** ARN of the role, or client id of the identity, of each service account, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
}

/** Outputs of a cluster: the same names on every cloud. */
export interface ClusterOutputs {
  readonly clusterName: string;
  readonly kubernetesVersion: string;
  /** URL of the API for nodes, reachable from the private network. */
  readonly apiEndpoint: pulumi.Output<string>;
  /** URL of the public API; absent when the stack file opens none. */
  readonly publicEndpoint?: pulumi.Output<string>;
  /** URL of the API by its own name; absent when the stack file has none. */
  readonly namedEndpoint?: pulumi.Output<string>;
  /** Kubeconfig of an administrator. Secret: `pulumi stack output kubeconfig --show-secrets`. */
  readonly kubeconfig: pulumi.Output<string>;
  /** Kubeconfigs for users by the name of their issuer, no secret; absent when no issuer is configured. */
  readonly signInKubeconfigs?: Readonly<Record<string, pulumi.Output<string>>>;
  /** Rights in the cloud for pods; absent when the stack file names none. */
  readonly workloadIdentity?: WorkloadIdentityOutput;
  readonly pools: readonly PoolOutput[];
  /** Resources that a pool of another program needs, under the names of its inputs: see `examples/attach-a-pool`. */
  readonly attachment: AwsAttachment | AzureAttachment;
  readonly resources: ClusterResources<pulumi.Output<string>>;
}

/** Outputs of a stack: those of its cluster, and the config it was created from. */
export interface StackOutputs extends ClusterOutputs {
  /**
   * The stack's config with its defaults, for programs that attach pools: plain values, known before any resource exists. Secret when an
   * address in it contains a password.
   */
  readonly config: pulumi.Input<StackConfig>;
}

/** What the outputs need from a cluster, on either cloud. */
export interface BuiltCluster {
  readonly host: pulumi.Input<string>;
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly kubeconfig: pulumi.Output<string>;
  readonly caCertificate: pulumi.Output<string>;
  readonly pools: readonly { readonly spec: PoolSpec; readonly groupName: pulumi.Output<string> }[];
  readonly attachment: AwsAttachment | AzureAttachment;
  readonly resources: ClusterResources<pulumi.Output<string>>;
  readonly serviceAccountPublicKeys: pulumi.Output<readonly string[]>;
  readonly workloadIdentity: Pick<WorkloadIdentityOutput, "issuer" | "identities"> | undefined;
}

function workloadIdentityOutput({ workloadIdentity, serviceAccountPublicKeys: keys }: BuiltCluster): WorkloadIdentityOutput | undefined {
  if (workloadIdentity === undefined) return undefined;
  const { issuer, identities } = workloadIdentity;
  const discovery = pulumi.all([issuer, keys]).apply(([url, known]) => discoveryDocument(url, known));
  return { issuer, discovery, keySet: keys.apply(keySet), identities };
}

function signInOutput(
  { name: cluster, apiDns }: Pick<ClusterSpec, "name" | "apiDns">,
  issuer: IssuerConfig,
  { host, publicHost, caCertificate }: BuiltCluster,
): pulumi.Output<string> {
  return pulumi
    .all([apiUrl(apiDns?.name ?? publicHost ?? host), caCertificate])
    .apply(([server, ca]) => signInKubeconfig({ cluster, server, caCertificate: ca, issuer }));
}

export function clusterOutputs(spec: ClusterSpec, cluster: BuiltCluster): ClusterOutputs {
  const { host, publicHost, kubeconfig, pools, attachment, resources } = cluster;
  const signIn = spec.signIn.map((issuer) => [issuer.name, signInOutput(spec, issuer, cluster)] as const);
  const workloadIdentity = workloadIdentityOutput(cluster);
  return {
    clusterName: spec.name,
    kubernetesVersion: spec.kubernetes.version,
    apiEndpoint: apiUrl(host),
    ...(publicHost === undefined ? {} : { publicEndpoint: apiUrl(publicHost) }),
    ...(spec.apiDns === undefined ? {} : { namedEndpoint: apiUrl(spec.apiDns.name) }),
    kubeconfig,
    ...(signIn.length === 0 ? {} : { signInKubeconfigs: Object.fromEntries(signIn) }),
    ...(workloadIdentity === undefined ? {} : { workloadIdentity }),
    pools: pools.map((pool) => ({ name: pool.spec.name, os: pool.spec.release.name, group: pool.groupName })),
    attachment,
    resources,
  };
}

/** A password in an address: `https://user:password@host`. */
const password = /\/\/[^/\s"]*@/;

/** The output `config` of a stack. Of logins it says that they are there. */
export function configOutput(whole: StackConfig): StackOutputs["config"] {
  const config = withoutLogins(whole);
  // Tags are on every resource for all to read, whatever they look like.
  return password.test(JSON.stringify({ ...config, tags: {} })) ? pulumi.secret(config) : config;
}
