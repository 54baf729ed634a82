import { addOnImages } from "../../components/kubernetes/images.ts";
import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { compareVersions, defaultRelease, minorOf, minors, releasePrograms } from "../../components/model/releases.ts";
import { windowsImageQueries } from "../../components/model/windowsImages.ts";
import { podNetworkImages } from "../../components/podNetworks/podNetworks.ts";

/** What a publisher says of an artifact. */
export type Answer =
  | { readonly kind: "digest"; readonly digest: string; readonly from: string }
  /** The publisher was reached and gives no digest. */
  | { readonly kind: "none"; readonly from: string }
  /** The publisher has no such file, or could not be reached. */
  | { readonly kind: "failed"; readonly from: string; readonly reason: string };

/** Outcome for an artifact. */
export interface PinResult {
  readonly artifact: Artifact;
  readonly outcome: "verified" | "recorded" | "moved" | "unverified" | "different" | "failed";
  /** One sentence for what is not simply right; empty otherwise. */
  readonly message: string;
}

/** Every artifact of a Kubernetes release, without digests. Throws RangeError for a release that cannot be chosen. */
export function releaseArtifacts(version: string): readonly Artifact[] {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new RangeError(`${version} is not a release such as ${defaultRelease}`);
  if (!minors.some(({ minor }) => minor === minorOf(version)))
    throw new RangeError(`Kubernetes ${minorOf(version)} cannot be chosen; allowed: ${minors.map(({ minor }) => minor).join(", ")}`);
  return (["linux", "windows"] as const).flatMap((os) =>
    releasePrograms[os].map((name): Artifact => {
      const url = `https://dl.k8s.io/release/v${version}/bin/${os}/amd64/${name}`;
      return {
        name,
        version,
        os,
        arch: "amd64",
        url,
        algorithm: "sha256",
        digest: null,
        source: "not recorded yet",
        checksumUrl: `${url}.sha256`,
      };
    }),
  );
}

/** The lock file with the artifacts of a release that it lacks. What it has stays. */
export function withRelease(lock: readonly Artifact[], version: string): readonly Artifact[] {
  const known = new Set(lock.map(identity));
  return sorted([...lock, ...releaseArtifacts(version).filter((artifact) => !known.has(identity(artifact)))]);
}

/** An artifact that the sources name; `os` where systems have different ones. */
export interface Named {
  readonly name: string;
  readonly version: string;
  readonly os?: string;
}

/** Every program and image whose version stands in a table of the sources. */
export function namedArtifacts(): readonly Named[] {
  const programs = minors.flatMap(({ components: { pause, ...own } }) => [
    ...Object.entries(own),
    ["registry.k8s.io/pause", pause] as const,
  ]);
  return [
    ...programs.map(([name, version]) => ({ name, version })),
    ...addOnImages(),
    ...podNetworkImages(),
    ...windowsReleases.flatMap(windowsImageQueries),
  ];
}

/**
 * The lock file with what the sources name and it lacks, without digests: for the platforms and at the place of the newest of that name. Of a
 * name that the lock file does not know nobody can say where it is published; it is left out.
 */
export function withNamed(lock: readonly Artifact[], named: readonly Named[]): readonly Artifact[] {
  const added = named.flatMap(({ name, version, os }) => {
    const known = lock.filter((artifact) => artifact.name === name && (os === undefined || artifact.os === os));
    if (known.some((artifact) => artifact.version === version)) return [];
    const newest = sorted(known).at(-1)?.version;
    return known.filter((artifact) => artifact.version === newest).map((artifact) => atVersion(artifact, version));
  });
  const once = new Map(added.map((artifact) => [identity(artifact), artifact]));
  return once.size === 0 ? lock : sorted([...lock, ...once.values()]);
}

/** An artifact at another version, whose digest nobody has asked for. */
export function atVersion(artifact: Artifact, version: string): Artifact {
  const url = artifact.url.replace(/@sha256:.*$/, "").replaceAll(artifact.version, version);
  const { checksumUrl: _, ...rest } = artifact;
  const unknown = { version, url, digest: null, source: "not recorded yet" };
  return { ...rest, ...unknown, ...(isImage(artifact) ? {} : { checksumUrl: url }) };
}

/**
 * What an answer means for an artifact: a digest that is not recorded yet is taken; one that is recorded must be the publisher's. A tag of an
 * image may be moved by its publisher, a file may not be changed: only the first can be accepted.
 */
export function judge(artifact: Artifact, answer: Answer, acceptMoved: boolean): PinResult {
  const what = `${artifact.name} ${artifact.version} (${artifact.os}/${artifact.arch})`;
  if (answer.kind === "failed") return { artifact, outcome: "failed", message: `${what}: ${answer.from}: ${answer.reason}` };
  if (answer.kind === "none") return { artifact, outcome: "unverified", message: `${what}: ${answer.from} gives no digest of it` };
  if (artifact.digest === answer.digest) return { artifact, outcome: "verified", message: "" };
  if (artifact.digest === null) return { artifact: recorded(artifact, answer.digest, answer.from), outcome: "recorded", message: "" };
  const both = `the lock file has ${artifact.digest}, the publisher says ${answer.digest}`;
  if (!isImage(artifact))
    return {
      artifact,
      outcome: "different",
      message: `${what}: ${both} (${answer.from}). Find out why before you use it`,
    };
  return acceptMoved
    ? {
        artifact: recorded(artifact, answer.digest, answer.from),
        outcome: "moved",
        message: `${what}: tag moved: ${both}`,
      }
    : {
        artifact,
        outcome: "different",
        message: `${what}: the tag was moved: ${both} (${answer.from}). Take the new image with --accept-moved`,
      };
}

function recorded(artifact: Artifact, digest: string, from: string): Artifact {
  const { checksumUrl: _, ...rest } = artifact;
  const url = isImage(artifact) ? `${artifact.url.split("@")[0]}@sha256:${digest}` : artifact.url;
  return { ...rest, url, digest, source: from };
}

/** Name, version and platform, which an artifact has to itself. */
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
