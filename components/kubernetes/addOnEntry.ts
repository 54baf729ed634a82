import type { PolicyProof } from "../gates/policyGate.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { AddOns } from "../model/nodeSettings.ts";
import type { Manifest, Text } from "./manifest.ts";

export interface ServerCertificate {
  /** PEM. */
  readonly certificate: Text;
  /** PEM. Secret. */
  readonly key: Text;
  /** The authority's certificate, PEM in base64, as webhook configurations take it. */
  readonly caBundle: Text;
}

export type PodNetworkManifests = (spec: ClusterSpec, nodeEndpoint: Text) => readonly Manifest[];

/** Values that may be known only after cloud resources exist. They never decide which objects there are. */
export interface InClusterValues {
  /** Host name of the internal API endpoint. */
  readonly nodeEndpoint: Text;
  readonly podNetworkManifests: PodNetworkManifests;
  /** Content of `azure.json`; required on Azure alone. */
  readonly cloudConfig: Text | undefined;
  /** Certificate of the gMSA webhook; required when gMSA is on. */
  readonly gmsaCertificate: ServerCertificate | undefined;
  /** Object id of the identity that reads the secrets of accounts; required on Azure with such accounts. */
  readonly gmsaObjectId?: Text | undefined;
  /** What pods with rights in the cloud get; required where the stack file names such. */
  readonly workloadIdentity?: WorkloadIdentityValues | undefined;
  /** Variables of the identity that writes logs; required where they go to a service of the cloud. */
  readonly logIdentity?: Readonly<Record<string, Text>> | undefined;
}

interface WorkloadIdentityValues {
  /** Variables of each service account's pods, see `environmentsExpression`. */
  readonly environments: Text;
  /** URL of the object that the sample reads. */
  readonly sampleUrl: Text | undefined;
}

/** All that is known of an add-on stands in the one file that exports it. */
export interface AddOnEntry {
  readonly name: string;
  /** Add-ons that must exist before it, where the cluster has them. */
  readonly after: readonly AddOnEntry[];
  /** Settings below `addons` of which one must be on. Default: every cluster has it. */
  readonly settings?: readonly (keyof AddOns)[];
  /** Whether it needs a worker to start, or must be deleted before the workers. */
  readonly needsPools?: boolean;
  /** Whether it is deleted before the machines go, because it deletes the cloud resources of others. */
  readonly cleansUp?: boolean;
  /** Its objects; without any a cluster does not have it. */
  readonly manifests: (spec: ClusterSpec, values: InClusterValues) => readonly Manifest[];
  /** Proof that it is in force, for which whatever depends on it waits too. Default: its objects are enough. */
  readonly proof?: (spec: ClusterSpec) => PolicyProof | undefined;
}
