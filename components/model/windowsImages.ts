import { type Artifact, type ArtifactQuery, requireArtifact } from "./artifacts.ts";
import type { WindowsFacts } from "./operatingSystems.ts";

/** Microsoft's images that exist per Windows build, with the part of the tag before the release. */
const tagPrefixes = {
  servercore: "",
  nanoserver: "",
  /** Internet Information Services; its tags are listed in microsoft/iis-docker. */
  "servercore/iis": "windowsservercore-",
} as const;

/** Name of a Microsoft image that exists per Windows build. */
export type WindowsImageName = keyof typeof tagPrefixes;

/**
 * Reference of Microsoft's image for a Windows release, with the digest where the lock file has one. Every use goes
 * through here, so that the images pulled in advance are the ones pods name. Throws a `RangeError` when the lock file
 * has no such image.
 */
export function windowsImage(
  lock: readonly Artifact[],
  name: WindowsImageName,
  { imageTag }: Pick<WindowsFacts, "imageTag">,
): string {
  return requireArtifact(lock, query(name, imageTag)).url;
}

/** Microsoft's images for a Windows release, as the lock file has them. */
export function windowsImageQueries({ imageTag }: Pick<WindowsFacts, "imageTag">): readonly ArtifactQuery[] {
  const names: readonly WindowsImageName[] = ["servercore", "nanoserver", "servercore/iis"];
  return names.map((name) => query(name, imageTag));
}

function query(name: WindowsImageName, imageTag: string): ArtifactQuery {
  return { name: `mcr.microsoft.com/windows/${name}`, version: `${tagPrefixes[name]}${imageTag}`, os: "windows" };
}
