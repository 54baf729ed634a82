import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { compareVersions, defaultRelease, minorOf, minors, type NamedVersion, releasePrograms } from "../../components/model/releases.ts";
import { windowsImageQueries } from "../../components/model/windowsImages.ts";
import { isProgram, type Said } from "./publishers.ts";

/** Releases of a minor that the lock file keeps: the newest, and the one that a stack can go back to. */
const keptReleases = 2;

export interface PinResult {
  readonly artifact: Artifact;
  readonly outcome: "verified" | "recorded" | "moved" | "unverified" | "different" | "failed" | "kept";
  readonly message?: string;
}

/** Every artifact of a Kubernetes release, without digests. Throws RangeError for a release that cannot be chosen. */
export function releaseArtifacts(version: string): readonly Artifact[] {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new RangeError(`${version} is not a release such as ${defaultRelease}`);
  if (!minors.some(({ minor }) => minor === minorOf(version)))
    throw new RangeError(`Kubernetes ${minorOf(version)} cannot be chosen; allowed: ${minors.map(({ minor }) => minor).join(", ")}`);
  return (["linux", "windows"] as const).flatMap((os) =>
    releasePrograms[os].map((name): Artifact => {
      const url = `https://dl.k8s.io/release/v${version}/bin/${os}/amd64/${name}`;
      const unknown = { algorithm: "sha256", digest: null, source: "not recorded yet", checksumUrl: `${url}.sha256` } as const;
      return { name, version, os, arch: "amd64", url, ...unknown };
    }),
  );
}

/** The lock file with the artifacts of a release that it lacks, and with the newest releases of each minor alone. */
export function withRelease(lock: readonly Artifact[], version: string): readonly Artifact[] {
  const known = new Set(lock.map(identity));
  const all = [...lock, ...releaseArtifacts(version).filter((artifact) => !known.has(identity(artifact)))];
  const releases = new Set(all.filter(isProgram).map((artifact) => artifact.version));
  const byMinor = Map.groupBy([...releases].sort(compareVersions), minorOf);
  const kept = new Set([...byMinor.values()].flatMap((some) => some.slice(-keptReleases)));
  return sorted(all.filter((artifact) => !isProgram(artifact) || kept.has(artifact.version)));
}

/**
 * The lock file with what is named and it lacks, without digests: for the platforms and at the place of the newest of that name. Of a name
 * that it does not know nobody can say where it is published. Of a name that it knows, versions that are not named any more go.
 */
export function withNamed(
  lock: readonly Artifact[],
  named: readonly NamedVersion[],
  chosen: (artifact: Artifact) => boolean = () => true,
): readonly Artifact[] {
  const all = [...named, ...windowsReleases.flatMap(windowsImageQueries)];
  const added = all.flatMap(({ name, version, os }) => {
    const known = lock.filter((artifact) => artifact.name === name && (os === undefined || artifact.os === os));
    if (known.some((artifact) => artifact.version === version)) return [];
    const newest = sorted(known).at(-1)?.version;
    return known
      .filter((artifact) => artifact.version === newest)
      .map((artifact) => atVersion(artifact, version))
      .filter(chosen);
  });
  const isNamed = ({ name, version, os }: Artifact) =>
    all.some((each) => each.name === name && each.version === version && (each.os ?? os) === os);
  return sorted([...lock.filter((artifact) => isProgram(artifact) || isNamed(artifact)), ...added]);
}

/** An artifact at another version, whose digest nobody has asked for. */
function atVersion(artifact: Artifact, version: string): Artifact {
  const url = artifact.url.replace(/@sha256:.*$/, "").replaceAll(artifact.version, version);
  const { checksumUrl: _, ...rest } = artifact;
  const unknown = { version, url, digest: null, source: "not recorded yet" };
  return { ...rest, ...unknown, ...(isImage(artifact) ? {} : { checksumUrl: url }) };
}

/**
 * What an answer means for an artifact: a digest that is not recorded yet is taken; one that is recorded must be the publisher's. A tag of
 * an image may be moved by its publisher, a file may not be changed: only the first can be accepted.
 */
export function judge(artifact: Artifact, { digest, from }: Said, acceptMoved: boolean): PinResult {
  const what = nameOf(artifact);
  if (digest === undefined) return { artifact, outcome: "unverified", message: `${what}: ${from} gives no digest of it` };
  if (artifact.digest === digest) return { artifact, outcome: "verified" };
  const { checksumUrl: _, ...rest } = artifact;
  const url = isImage(artifact) ? `${artifact.url.split("@")[0]}@sha256:${digest}` : artifact.url;
  const recorded = { ...rest, url, digest, source: from };
  if (artifact.digest === null) return { artifact: recorded, outcome: "recorded" };
  const both = `the lock file has ${artifact.digest}, the publisher says ${digest} (${from})`;
  if (!isImage(artifact)) return { artifact, outcome: "different", message: `${what}: ${both}. Find out why before you use it` };
  if (acceptMoved) return { artifact: recorded, outcome: "moved", message: `${what}: tag moved: ${both}` };
  return { artifact, outcome: "different", message: `${what}: the tag was moved: ${both}. Take the new image with --accept-moved` };
}

/** `kubelet 1.36.4 (linux/amd64)`. */
export function nameOf({ name, version, os, arch }: Artifact): string {
  return `${name} ${version} (${os}/${arch})`;
}

function identity({ name, version, os, arch }: Artifact): string {
  return [name, version, os, arch].join(" ");
}

/** In the order of the lock file: by name, then by version, then by platform. */
export function sorted(lock: readonly Artifact[]): readonly Artifact[] {
  const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return lock.toSorted(
    (a, b) =>
      text(a.name, b.name) ||
      compareVersions(a.version, b.version) ||
      text(a.version, b.version) ||
      text(`${a.os} ${a.arch}`, `${b.os} ${b.arch}`),
  );
}

/** Text of the lock file. */
export function renderLock(lock: readonly Artifact[]): string {
  return `${JSON.stringify(lock, null, 2)}\n`;
}
