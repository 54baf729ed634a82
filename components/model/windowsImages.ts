import { type Artifact, type ArtifactQuery, requireArtifact } from "./artifacts.ts";
import type { WindowsFacts } from "./operatingSystems.ts";

/** Microsoft's images per Windows build, with the tag's part before the release. */
const tagPrefixes = {
  servercore: "",
  nanoserver: "",
  /** Tags are listed in microsoft/iis-docker. */
  "servercore/iis": "windowsservercore-",
} as const;

type WindowsImageName = keyof typeof tagPrefixes;

/**
 * Reference of Microsoft's image for a Windows release, with the lock file's digest if it has one. Every use goes
 * through here, so that the images pulled in advance are those that pods name. @throws RangeError when the lock file
 * has no such image
 */
export function windowsImage(
  lock: readonly Artifact[],
  name: WindowsImageName,
  { imageTag }: Pick<WindowsFacts, "imageTag">,
): string {
  return requireArtifact(lock, query(name, imageTag)).url;
}

export function windowsImageQueries({ imageTag }: Pick<WindowsFacts, "imageTag">): readonly ArtifactQuery[] {
  const names: readonly WindowsImageName[] = ["servercore", "nanoserver", "servercore/iis"];
  return names.map((name) => query(name, imageTag));
}

function query(name: WindowsImageName, imageTag: string): ArtifactQuery {
  return { name: `mcr.microsoft.com/windows/${name}`, version: `${tagPrefixes[name]}${imageTag}`, os: "windows" };
}
