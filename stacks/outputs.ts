import * as pulumi from "@pulumi/pulumi";
import type { IssuerConfig } from "../components/config/schema.ts";
import { apiUrl } from "../components/gates/controlPlane.ts";
import { InCluster, type InClusterArgs } from "../components/kubernetes/inCluster.ts";
import type { ClusterResources, ClusterSpec } from "../components/model/clusterSpec.ts";
import { issuerDocuments, type Pki, signInKubeconfig } from "../components/pki/pki.ts";
import { podNetworkManifests } from "../components/podNetworks/manifests.ts";

interface PoolOutput {
  /** Also the value of its nodes' label `fenestra.dev/pool`. */
  readonly name: string;
  /** As the stack file names it. */
  readonly os: string;
  readonly group: pulumi.Output<string>;
}

/** The issuer of service accounts' tokens, and who has rights by them. */
interface WorkloadIdentityOutput {
  readonly issuer: pulumi.Output<string>;
  /** URL of the document at `/.well-known/openid-configuration` below the issuer. */
  readonly discovery: pulumi.Output<string>;
  /** URL of the document at `/openid/v1/jwks` below the issuer. */
  readonly keySet: pulumi.Output<string>;
  /** Role ARNs or identities' client ids, by `namespace/name`. */
  readonly identities: pulumi.Output<Readonly<Record<string, string>>>;
}

/** Outputs of a stack: the same names on every cloud. */
export interface ClusterOutputs {
  readonly clusterName: string;
  readonly kubernetesVersion: string;
  /** URL of the API for nodes, reachable from the private network. */
  readonly apiEndpoint: pulumi.Output<string>;
  /** URL of the public API; absent when the stack file opens none. */
  readonly publicEndpoint?: pulumi.Output<string>;
  /** URL of the API by its own name; absent without one. */
  readonly namedEndpoint?: pulumi.Output<string>;
  /** An administrator's. Secret: `pulumi stack output kubeconfig --show-secrets`. */
  readonly kubeconfig: pulumi.Output<string>;
  /** Kubeconfigs of users by their issuer's name, no secret; absent without issuers. */
  readonly signInKubeconfigs?: Readonly<Record<string, pulumi.Output<string>>>;
  /** Rights in the cloud for pods; absent without any. */
  readonly workloadIdentity?: WorkloadIdentityOutput;
  readonly pools: readonly PoolOutput[];
  readonly resources: ClusterResources<pulumi.Output<string>>;
}

interface BuiltCluster extends Pick<InClusterArgs, "api" | "apiGate"> {
  readonly host: pulumi.Input<string>;
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly pki: Pki;
  readonly pools: readonly (InClusterArgs["pools"][number] & { readonly groupName: pulumi.Output<string> })[];
  readonly resources: ClusterResources<pulumi.Output<string>>;
  readonly workloadIdentity:
    | (InClusterArgs["workloadIdentity"] & Pick<WorkloadIdentityOutput, "issuer" | "identities">)
    | undefined;
}

function signInOutput(
  { name: cluster, apiDns }: Pick<ClusterSpec, "name" | "apiDns">,
  issuer: IssuerConfig,
  { host, publicHost, pki }: BuiltCluster,
): pulumi.Output<string> {
  return pulumi
    .all([apiUrl(apiDns?.name ?? publicHost ?? host), pki.kubernetesCa.certificate])
    .apply(([server, ca]) => signInKubeconfig({ cluster, server, caCertificate: ca, issuer }));
}

/**
 * Makes what runs inside a cluster, and its outputs.
 *
 * @param values this cloud's alone
 */
export function withInside(
  spec: ClusterSpec,
  cluster: BuiltCluster,
  values: Pick<InClusterArgs, "cloudConfig" | "gmsaObjectId"> = {},
): ClusterOutputs {
  const { host, publicHost, pki, api, apiGate, pools, resources, workloadIdentity } = cluster;
  const server = apiUrl(publicHost ?? host);
  new InCluster(`${spec.name}-in`, {
    spec,
    kubeconfig: pki.kubeconfig("admin", server),
    api,
    clusterIdentifier: pki.identifier,
    apiGate,
    pools,
    nodeEndpoint: host,
    podNetworkManifests,
    workloadIdentity,
    ...values,
  });
  const signIn = spec.signIn.map((issuer) => [issuer.name, signInOutput(spec, issuer, cluster)] as const);
  return {
    clusterName: spec.name,
    kubernetesVersion: spec.kubernetes.version,
    apiEndpoint: apiUrl(host),
    ...(publicHost !== undefined && { publicEndpoint: apiUrl(publicHost) }),
    ...(spec.apiDns !== undefined && { namedEndpoint: apiUrl(spec.apiDns.name) }),
    kubeconfig: pki.kubeconfig("people", server),
    ...(signIn.length > 0 && { signInKubeconfigs: Object.fromEntries(signIn) }),
    ...(workloadIdentity !== undefined && {
      workloadIdentity: {
        issuer: workloadIdentity.issuer,
        ...issuerDocuments(workloadIdentity.issuer, pki.serviceAccountPublicKeys),
        identities: workloadIdentity.identities,
      },
    }),
    pools: pools.map((pool) => ({ name: pool.spec.name, os: pool.spec.release.name, group: pool.groupName })),
    resources,
  };
}
