import type { Cloud, StackConfig } from "../config/schema.ts";
import type { AddOns } from "./addOns.ts";
import type { AddressPlan } from "./addressPlan.ts";
import type { Artifact } from "./artifacts.ts";
import type { CloudFacts } from "./cloudFacts/facts.ts";
import type { RegistryAccess } from "./cloudFacts/registryAccess.ts";
import type { Credentials } from "./credentials.ts";
import type { ClusterAddresses } from "./podAddressing.ts";
import type { PodNetwork } from "./podNetwork.ts";

export interface ClusterIdentity {
  readonly cloud: Cloud;
  readonly facts: CloudFacts;
  readonly name: string;
  readonly region: string;
  readonly tags: Readonly<Record<string, string>>;
}

export interface NodeKubernetes extends ClusterAddresses {
  /** `1.36.4`. */
  readonly version: string;
  /** `1.36`. */
  readonly minor: string;
  readonly podNetwork: PodNetwork;
}

export interface DownloadSettings {
  readonly artifacts: readonly Artifact[];
  readonly mirror: StackConfig["mirror"];
  readonly httpProxy: string | undefined;
  readonly credentials: Credentials;
  /** Reached without the proxy, besides the cluster's networks. */
  readonly noProxy: readonly string[];
  /** Certificates trusted besides the public authorities', in PEM. */
  readonly certificateAuthorities: readonly string[];
  readonly network: Pick<AddressPlan, "cidrs" | "existing"> & Pick<StackConfig["network"], "nat">;
}

/**
 * What a pool's machines need to know about their cluster: plain data, the same for every pool, no secret. A
 * `ClusterSpec` contains it; a setting that is not here replaces no worker.
 */
export interface NodeSettings extends ClusterIdentity, DownloadSettings {
  readonly kubernetes: NodeKubernetes;
  /** Cloud registries that workers pull from with their identity, if any. */
  readonly registryAccess: RegistryAccess | undefined;
  /** Whether Azure also encrypts caches and temporary disks on the host; false on AWS, whose hosts always do. */
  readonly encryptionAtHost: boolean;
  /** AWS: what the organisation demands of roles. */
  readonly iam: StackConfig["iam"];
  /** Domain accounts, whose plug-in some nodes get, and log shipping, whose program Windows nodes get. */
  readonly addons: Pick<AddOns, "gmsa" | "logs">;
}
