import { type Artifact, readArtifactLock, requireArtifact } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import type { WindowsFacts } from "../model/operatingSystems.ts";
import { defaultRelease, minors, otherReleases, pauseImage, versionFor, versions } from "../model/releases.ts";

/**
 * Versions of the images that add-ons run. The lock file has the reference of each, with its digest where one was
 * recorded. The plain tag of azure-cloud-node-manager has no sign of an image for Windows: AKS pulls the one on the
 * HostProcess base, which runs on every build.
 */
const { images } = versions;

export type ImageName = keyof typeof images;

export type ImageSource = Pick<ClusterSpec, "artifacts"> & { readonly kubernetes: { readonly version: string } };

/** Reference of an add-on's image. */
export function image(spec: ImageSource, name: ImageName, os: "linux" | "windows" = "linux"): string {
  const version = versionFor(images[name], spec.kubernetes.version, os);
  return requireArtifact(spec.artifacts, { name, version, os }).url;
}

/**
 * Windows release of a group of nodes, as far as it decides which image runs there; `undefined` on Linux and for an
 * unknown build.
 */
type Release = Pick<WindowsFacts, "upstreamSupported"> | undefined;

interface VerifyImages {
  /**
   * Upstream's test image: an HTTP server and curl, for Linux and Windows. 2.62 was the first for Windows 2025
   * (kubernetes/kubernetes#136727); for 2019 an older one is taken, since upstream supports that release no longer
   * (kubernetes/website#55103).
   */
  readonly probePod: (release: Release) => string;
  /**
   * Runs on every Windows build; its few kilobytes hold nothing, so only what is on the node's disk can be run in it.
   */
  readonly hostProcess: string;
  /** Does nothing, on every system and build (the manifest list has each). */
  readonly pause: string;
}

/** The images of a verification, with digests where the lock file has them. */
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

/**
 * Every image that a verification may run in a cluster with nodes of these releases, and of Linux, which every cluster
 * has.
 */
export function verifyImageList(lock: readonly Artifact[], releases: readonly Release[]): readonly string[] {
  const { probePod, hostProcess, pause } = verifyImages(lock);
  return [
    ...new Set([...[undefined, ...releases].map(probePod), pause, ...(releases.length > 0 ? [hostProcess] : [])]),
  ];
}
