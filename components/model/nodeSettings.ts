import type { Cloud, StackConfig } from "../config/schema.ts";
import type { AddOns } from "./addOns.ts";
import type { Artifact } from "./artifacts.ts";
import type { RegistryAccess } from "./registryAccess.ts";

/** What names a cluster and everything that belongs to it. */
export interface ClusterIdentity {
  readonly cloud: Cloud;
  /** Name of the cluster: it begins the names of its resources. */
  readonly name: string;
  readonly region: string;
  /** Tags of every cloud resource. */
  readonly tags: Readonly<Record<string, string>>;
}

/** Kubernetes as every node knows it. */
export interface NodeKubernetes {
  /** `1.36.4`. */
  readonly version: string;
  /** `1.36`. */
  readonly minor: string;
  readonly podCidr: string;
  readonly serviceCidr: string;
  /** Address of CoreDNS's Service: the tenth of the range, kubeadm's choice. */
  readonly dnsAddress: string;
  readonly clusterDomain: "cluster.local";
}

/** Where a machine gets its files and images from, and by which way. */
export interface DownloadSettings {
  readonly artifacts: readonly Artifact[];
  readonly mirror: StackConfig["mirror"];
  readonly httpProxy: string | undefined;
  readonly network: { readonly cidr: string; readonly nat: StackConfig["network"]["nat"] };
}

/**
 * What the machines of a pool need to know of their cluster: plain data, the same for every pool, no secret. A `ClusterSpec` has it all, so a
 * program that attaches a pool gets it from the cluster's output `config`.
 */
export interface NodeSettings extends ClusterIdentity, DownloadSettings {
  readonly kubernetes: NodeKubernetes;
  /** Registries of the cloud that workers pull from by their identity; `undefined` when there are none. */
  readonly registryAccess: RegistryAccess | undefined;
  /** Whether Azure encrypts caches and temporary disks on the host as well; always false on AWS, whose hosts do so anyway. */
  readonly encryptionAtHost: boolean;
  /** The accounts of pods, whose plug-in some nodes get. */
  readonly addons: Pick<AddOns, "gmsa">;
}
