import type * as pulumi from "@pulumi/pulumi";
import { apiUrl } from "../components/gates/adminClient.ts";
import type { ClusterSpec } from "../components/model/clusterSpec.ts";
import type { PoolSpec } from "../components/model/pools.ts";

/** One pool as the outputs of a stack name it. */
export interface PoolOutput {
  /** Name of the pool, which is also the value of its nodes' label `fenestra.dev/pool`. */
  readonly name: string;
  /** Operating system as the stack file names it. */
  readonly os: string;
  /** Name of the group of machines in the cloud. */
  readonly group: pulumi.Output<string>;
}

/** Outputs of a stack: the same names on every cloud. */
export interface StackOutputs {
  /** Name of the cluster. */
  readonly clusterName: string;
  /** Kubernetes release. */
  readonly kubernetesVersion: string;
  /** URL of the API that nodes use; it is reached from the private network. */
  readonly apiEndpoint: pulumi.Output<string>;
  /** URL of the public API; absent when the stack file opens none. */
  readonly publicEndpoint?: pulumi.Output<string>;
  /** Kubeconfig of an administrator. Secret: `pulumi stack output kubeconfig --show-secrets`. */
  readonly kubeconfig: pulumi.Output<string>;
  readonly pools: readonly PoolOutput[];
}

/** What the outputs take from a cluster, whatever its cloud. */
export interface BuiltCluster {
  readonly host: pulumi.Input<string>;
  readonly publicHost: pulumi.Output<string> | undefined;
  readonly kubeconfig: pulumi.Output<string>;
  readonly pools: readonly { readonly spec: PoolSpec; readonly groupName: pulumi.Output<string> }[];
}

/** The outputs of a stack. */
export function stackOutputs(spec: ClusterSpec, { host, publicHost, kubeconfig, pools }: BuiltCluster): StackOutputs {
  return {
    clusterName: spec.name,
    kubernetesVersion: spec.kubernetes.version,
    apiEndpoint: apiUrl(host),
    ...(publicHost === undefined ? {} : { publicEndpoint: apiUrl(publicHost) }),
    kubeconfig,
    pools: pools.map((pool) => ({ name: pool.spec.name, os: pool.spec.release.name, group: pool.groupName })),
  };
}
