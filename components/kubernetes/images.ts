import type { PolicyProof } from "../gates/policyGate.ts";
import { type Artifact, readArtifactLock, requireArtifact } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { AddOns } from "../model/nodeSettings.ts";
import type { WindowsFacts } from "../model/operatingSystems.ts";
import { defaultRelease, minors, otherReleases, pauseImage, versionFor, versions } from "../model/releases.ts";
import type { Manifest, Text } from "./manifest.ts";

/**
 * Versions of the add-ons' images; the lock file has their references and recorded digests. The plain tag of
 * azure-cloud-node-manager has no image for Windows: AKS pulls the one on the HostProcess base, which runs on every
 * build.
 */
const { images } = versions;

type ImageName = keyof typeof images;

export type ImageSource = Pick<ClusterSpec, "artifacts"> & { readonly kubernetes: { readonly version: string } };

export function image(spec: ImageSource, name: ImageName, os: "linux" | "windows" = "linux"): string {
  const version = versionFor(images[name], spec.kubernetes.version, os);
  return requireArtifact(spec.artifacts, { name, version, os }).url;
}

/** What decides which image runs on nodes; `undefined` on Linux and for an unknown build. */
type Release = Pick<WindowsFacts, "upstreamSupported"> | undefined;

interface VerifyImages {
  /**
   * Upstream's test image: an HTTP server and curl. 2.62 was the first for Windows 2025 (kubernetes/kubernetes#136727);
   * 2019 takes an older one, since upstream no longer supports that release (kubernetes/website#55103).
   */
  readonly probePod: (release: Release) => string;
  /** Runs on every Windows build, but holds nothing: only programs of the node's disk can be run in it. */
  readonly hostProcess: string;
  /** An image that does nothing, on every system and build. */
  readonly pause: string;
}

export function verifyImages(lock: readonly Artifact[] = readArtifactLock()): VerifyImages {
  const name = "registry.k8s.io/e2e-test-images/agnhost";
  const { recent, windows2019 } = otherReleases[name];
  const agnhost = (version: string): string => requireArtifact(lock, { name, version, os: "linux" }).url;
  return {
    probePod: (release) => agnhost(release?.upstreamSupported === false ? windows2019 : recent),
    hostProcess: image(
      { artifacts: lock, kubernetes: { version: defaultRelease } },
      "mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image",
      "windows",
    ),
    pause: pauseImage(lock, minors.at(-1)?.minor ?? ""),
  };
}

/** Every image that a verification may run in a cluster with nodes of Linux and these releases. */
export function verifyImageList(lock: readonly Artifact[], releases: readonly Release[]): readonly string[] {
  const { probePod, hostProcess, pause } = verifyImages(lock);
  return [
    ...new Set([...[undefined, ...releases].map(probePod), pause, ...(releases.length > 0 ? [hostProcess] : [])]),
  ];
}

export interface ServerCertificate {
  /** PEM. */
  readonly certificate: Text;
  /** PEM. Secret. */
  readonly key: Text;
  /** The authority's certificate, PEM in base64, as webhook configurations take it. */
  readonly caBundle: Text;
}

export type PodNetworkManifests = (
  spec: Pick<ClusterSpec, "artifacts" | "facts" | "kubernetes" | "windows">,
  nodeEndpoint: Text,
) => readonly Manifest[];

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
