import { isPair, isScalar, parseDocument, visit } from "yaml";
import { type Artifact, isImage, isProgram, windowsImageQueries } from "../../components/model/artifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import {
  compareVersions,
  defaultRelease,
  minorOf,
  minors,
  type NamedVersion,
  releasePrograms,
} from "../../components/model/releases.ts";
import type { Publishers, Said } from "./publishers.ts";

/** Releases kept of a minor: the newest, and one to go back to. */
const keptReleases = 2;

export const pinOutcomes = ["verified", "recorded", "moved", "unverified", "different", "failed", "kept"] as const;

export interface PinResult {
  readonly artifact: Artifact;
  readonly outcome: (typeof pinOutcomes)[number];
  readonly message?: string;
}

/** All artifacts of a release, without digests. Throws RangeError for one that cannot be chosen. */
export function releaseArtifacts(version: string): readonly Artifact[] {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new RangeError(
      `${version} is not a release such as ${defaultRelease}; of a program or an image: NAME VERSION`,
    );
  if (!minors.some(({ minor }) => minor === minorOf(version)))
    throw new RangeError(
      `Kubernetes ${minorOf(version)} cannot be chosen; allowed: ${minors.map(({ minor }) => minor).join(", ")}`,
    );
  return (["linux", "windows"] as const).flatMap((os) =>
    releasePrograms[os].map((name): Artifact => {
      const url = `https://dl.k8s.io/release/v${version}/bin/${os}/amd64/${name}`;
      const unknown = {
        algorithm: "sha256",
        digest: null,
        source: "not recorded yet",
        checksumUrl: `${url}.sha256`,
      } as const;
      return { name, version, os, arch: "amd64", url, ...unknown };
    }),
  );
}

/** Each minor keeps its newest releases alone. */
export function withRelease(lock: readonly Artifact[], version: string): readonly Artifact[] {
  const known = new Set(lock.map(identity));
  const all = [...lock, ...releaseArtifacts(version).filter((artifact) => !known.has(identity(artifact)))];
  const releases = new Set(all.filter(isProgram).map((artifact) => artifact.version));
  const byMinor = Map.groupBy([...releases].sort(compareVersions), minorOf);
  const kept = new Set([...byMinor.values()].flatMap((some) => some.slice(-keptReleases)));
  if (!kept.has(version))
    throw new RangeError(
      `${version} would not stay: of its minor the lock file keeps ${[...kept].filter((each) => minorOf(each) === minorOf(version)).join(" and ")}`,
    );
  return sorted(all.filter((artifact) => !isProgram(artifact) || kept.has(artifact.version)));
}

/**
 * What is named and missing is added without digests, for the platforms and at the place of the newest of that name and
 * minor, since nobody knows where an unknown name is published. Versions of a known name that are no longer named go.
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
    // Another minor's image tags may be made otherwise.
    const near = known.filter((artifact) => minorOf(artifact.version) === minorOf(version));
    const newest = sorted(near.length > 0 ? near : known).at(-1)?.version;
    return known
      .filter((artifact) => artifact.version === newest)
      .map((artifact) => atVersion(artifact, version))
      .filter(chosen);
  });
  const isNamed = ({ name, version, os }: Artifact) =>
    all.some((each) => each.name === name && each.version === version && (each.os ?? os) === os);
  return sorted([...lock.filter((artifact) => isProgram(artifact) || isNamed(artifact)), ...added]);
}

/** The artifact at another version, without a digest. */
export function atVersion(artifact: Artifact, version: string): Artifact {
  const url = artifact.url.replace(/@sha256:.*$/, "").replaceAll(artifact.version, version);
  const { checksumUrl: _, replaces: __, ...rest } = artifact;
  const unknown = { version, url, digest: null, source: "not recorded yet" };
  return { ...rest, ...unknown, ...(isImage(artifact) ? {} : { checksumUrl: url }) };
}

/**
 * A missing digest is taken, a recorded one must be the publisher's. A moved tag can be accepted; a file may not
 * change.
 */
function judge(artifact: Artifact, { digest, from }: Said, acceptMoved: boolean): PinResult {
  const what = nameOf(artifact);
  if (digest === undefined)
    return { artifact, outcome: "unverified", message: `${what}: ${from} gives no digest of it` };
  if (artifact.digest === digest) return { artifact, outcome: "verified" };
  const { checksumUrl: _, ...rest } = artifact;
  const url = isImage(artifact) ? `${artifact.url.split("@")[0]}@sha256:${digest}` : artifact.url;
  const recorded = { ...rest, url, digest, source: from };
  if (artifact.digest === null) return { artifact: recorded, outcome: "recorded" };
  const both = `the lock file has ${artifact.digest}, the publisher says ${digest} (${from})`;
  if (!isImage(artifact))
    return { artifact, outcome: "different", message: `${what}: ${both}. Find out why before you use it` };
  if (acceptMoved) return { artifact: recorded, outcome: "moved", message: `${what}: tag moved: ${both}` };
  return {
    artifact,
    outcome: "different",
    message: `${what}: the tag was moved: ${both}. Take the new image with --accept-moved`,
  };
}

/** A row, and what it replaces: itself where only its digest is missing. */
interface Move {
  readonly from: Artifact;
  readonly to: Artifact;
}

/** Rows that there are to be, and those whose digests are asked for. */
export interface Wanted {
  readonly rows: readonly Artifact[];
  readonly isAsked: (row: Artifact) => boolean;
  /** Rows that take others' places. */
  readonly moves: readonly Move[];
}

/** Few enough for publishers that count. */
const atOnce = 8;

/** Asks for each artifact that is asked for and judges the answers, in the lock file's order. */
export async function pin(
  { rows, isAsked }: Wanted,
  publishers: Publishers,
  acceptMoved: boolean,
  progress: (doing: string) => void = () => {},
): Promise<readonly PinResult[]> {
  const results = rows.map((artifact): PinResult => ({ artifact, outcome: "kept" }));
  // All workers take from one iterator.
  const waiting = [...rows.entries()].filter(([, artifact]) => isAsked(artifact)).values();
  const worker = async (): Promise<void> => {
    for (const [index, artifact] of waiting) {
      progress(`asking for ${nameOf(artifact)}`);
      results[index] = await publishers.digest(artifact).then(
        (said) => judge(artifact, said, acceptMoved),
        (error: Error) => ({ artifact, outcome: "failed", message: `${nameOf(artifact)}: ${error.message}` }),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** `kubelet 1.36.4 (linux/amd64)`. */
export function nameOf({ name, version, os, arch }: Artifact): string {
  return `${name} ${version} (${os}/${arch})`;
}

function identity({ name, version, os, arch }: Artifact): string {
  return [name, version, os, arch].join(" ");
}

/** Sorted by name, version, platform. */
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

export function renderLock(lock: readonly Artifact[]): string {
  return `${JSON.stringify(lock, null, 2)}\n`;
}

interface Newer {
  readonly name: string;
  readonly version: string;
  readonly newest: string;
}

/** Name of all programs of a Kubernetes release together. */
export const kubernetesName = "kubernetes";

/** The text of `versions.json` with later versions; the rest stays to the byte. */
export function newerVersions(text: string, newer: readonly Newer[]): string {
  const parts: string[] = [];
  let done = 0;
  visit(parseDocument(text), {
    Scalar: (_, { value, range }, ancestors) => {
      if (!range) return;
      const keys = ancestors.filter(isPair).map(({ key }) => String(isScalar(key) ? key.value : key));
      if (keys[0] === "published" || keys[0] === "known") return;
      const later = newer.find((each) => keys.includes(each.name) && each.version === value);
      if (later === undefined) return;
      parts.push(text.slice(done, range[0]), text.slice(range[0], range[1]).replace(String(value), later.newest));
      done = range[1];
    },
  });
  return parts.join("") + text.slice(done);
}
