import { type Artifact, readArtifactLock, requireArtifact } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { WindowsFacts } from "../model/operatingSystems.ts";
import { defaultRelease, minors, otherReleases, pauseImage, versionFor, versions } from "../model/releases.ts";

/**
 * Versions of the add-ons' images; the lock file has their references and recorded digests. The plain tag of
 * azure-cloud-node-manager has no image for Windows: AKS pulls the one on the HostProcess base, which runs on every
 * build.
 */
const { images } = versions;

export type ImageSource = Pick<ClusterSpec, "artifacts"> & { readonly kubernetes: { readonly version: string } };

export function image(spec: ImageSource, name: keyof typeof images, os: "linux" | "windows" = "linux"): string {
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
  const agnhost = (version: string) => requireArtifact(lock, { name, version, os: "linux" }).url;
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
