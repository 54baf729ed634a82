import { type Artifact, requireArtifact } from "../model/artifacts.ts";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { versions } from "../model/releases.ts";

/**
 * Versions of the images that add-ons run; a pair where Windows has a different tag. The lock file has the reference of each, with its
 * digest where one was recorded. The plain tag of azure-cloud-node-manager has no sign of an image for Windows: AKS pulls the one on the
 * HostProcess base, which runs on every build. Of AWS's cloud controller no image of 1.36 was published in time
 * (kubernetes/cloud-provider-aws#1450).
 */
const { images } = versions;

export type ImageName = keyof typeof images;

export type ImageSource = Pick<ClusterSpec, "artifacts">;

/** Reference of an add-on's image. */
export function image(spec: ImageSource, name: ImageName, os: "linux" | "windows" = "linux"): string {
  return lockedImage(spec.artifacts, name, os);
}

/** The same from a lock file alone. */
export function lockedImage(lock: readonly Artifact[], name: ImageName, os: "linux" | "windows" = "linux"): string {
  const version = images[name];
  return requireArtifact(lock, { name, version: typeof version === "string" ? version : version[os], os }).url;
}
