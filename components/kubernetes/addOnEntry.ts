import type { PolicyProof } from "../gates/policyGate.ts";
import type { AddOns } from "../model/addOns.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { Manifest, Text } from "./manifest.ts";

/** A server certificate with its key and the authority's certificate, all PEM. */
export interface ServerCertificate {
  readonly certificate: Text;
  /** Secret. */
  readonly key: Text;
  /** The authority's certificate in base64, as webhook configurations take it. */
  readonly caBundle: Text;
}

export type PodNetworkManifests = (
  spec: Pick<ClusterSpec, "artifacts" | "kubernetes" | "windows">,
  nodeEndpoint: Text,
) => readonly Manifest[];

/** Values that may be known only after cloud resources exist. They never decide which objects there are. */
export interface InClusterValues {
  readonly nodeEndpoint: Text;
  readonly podNetworkManifests: PodNetworkManifests;
  /** Content of `azure.json`; only on Azure, and there required. */
  readonly cloudConfig: Text | undefined;
  /** Certificate of the gMSA webhook; only when gMSA is on, and then required. */
  readonly gmsaCertificate: ServerCertificate | undefined;
  /**
   * Object id of the identity that reads the secrets of accounts; only on Azure with such accounts, and there required.
   */
  readonly gmsaObjectId?: Text | undefined;
  /** What pods with rights in the cloud get; only where the stack file names such, and then required. */
  readonly workloadIdentity?: WorkloadIdentityValues | undefined;
  /** Variables of the identity that writes logs; only where they go to a service of the cloud, and then required. */
  readonly logIdentity?: Readonly<Record<string, Text>> | undefined;
}

interface WorkloadIdentityValues {
  /** Variables of each service account's pods, see `environmentsExpression`. */
  readonly environments: Text;
  /** URL of the object that the sample reads; none without the sample. */
  readonly sampleUrl: Text | undefined;
}

/** An add-on: all that is known of it stands in the one file that exports it. */
export interface AddOnEntry {
  readonly name: string;
  /** Add-ons that must exist before it; those that a cluster does not have are skipped. */
  readonly after: readonly AddOnEntry[];
  /** Settings below `addons` of which one must be on. Default: every cluster has it. */
  readonly settings?: readonly (keyof AddOns)[];
  /** Whether it waits for the pools: only if it needs a worker to start, or must be deleted before the workers. */
  readonly needsPools?: boolean;
  /** Whether it is deleted properly before the machines go, because it deletes the cloud resources of others. */
  readonly cleansUp?: boolean;
  /** Its objects; a cluster for which there are none does not have it. */
  readonly manifests: (spec: ClusterSpec, values: InClusterValues) => readonly Manifest[];
  /** Proof that it is in force. What depends on the add-on waits for it too. Default: its objects are enough. */
  readonly proof?: (spec: ClusterSpec) => PolicyProof | undefined;
}
