import { isPair, isScalar, parseDocument, visit } from "yaml";
import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { compareNumbers, isProgram, partsOf, releaseOf } from "../../components/model/moreArtifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import {
  compareVersions,
  defaultRelease,
  minorOf,
  minors,
  type NamedVersion,
  releasePrograms,
} from "../../components/model/releases.ts";
import { windowsImageQueries } from "../../components/model/windowsImages.ts";
import type { Publishers, Said } from "./publishers.ts";

/** Releases kept of a minor: the newest, and one to go back to. */
const keptReleases = 2;

export interface PinResult {
  readonly artifact: Artifact;
  readonly outcome: "verified" | "recorded" | "moved" | "unverified" | "different" | "failed" | "kept";
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

/** Few enough for publishers that count. */
const atOnce = 8;

/** Asks for each chosen artifact and judges the answers, in the lock file's order. */
export async function pinLock(
  lock: readonly Artifact[],
  publishers: Publishers,
  acceptMoved: boolean,
  chosen: (artifact: Artifact) => boolean,
): Promise<readonly PinResult[]> {
  const results = lock.map((artifact): PinResult => ({ artifact, outcome: "kept" }));
  // All workers take from one iterator.
  const waiting = [...lock.entries()].filter(([, artifact]) => chosen(artifact)).values();
  const worker = async (): Promise<void> => {
    for (const [index, artifact] of waiting)
      results[index] = await publishers.digest(artifact).then(
        (said) => judge(artifact, said, acceptMoved),
        (error: Error) => ({ artifact, outcome: "failed", message: `${nameOf(artifact)}: ${error.message}` }),
      );
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

export interface Newer {
  /** The name in the lock file; `kubernetes` for a release's programs. */
  readonly name: string;
  readonly version: string;
  readonly newest: string;
}

/** Name of all programs of a Kubernetes release together. */
export const kubernetesName = "kubernetes";

/** What has no number, such as `ltsc2022`, is skipped. @param follow a newer minor of these is as good as a patch */
export async function findNewer(
  lock: readonly Artifact[],
  publishers: Publishers,
  follow: readonly string[] = [],
): Promise<Record<"newer" | "minors", readonly Newer[]> & Record<"failed" | "skipped", readonly string[]>> {
  const programs = lock.filter(isProgram).sort((a, b) => compareVersions(a.version, b.version));
  const asked = new Map([
    ...programs.map(
      (artifact) => [`${kubernetesName} ${minorOf(artifact.version)}`, { ...artifact, name: kubernetesName }] as const,
    ),
    ...lock
      .filter((artifact) => !isProgram(artifact))
      .map((artifact) => [`${artifact.name} ${artifact.version}`, artifact] as const),
  ]);
  const [newer, minors]: [Newer[], Newer[]] = [[], []];
  const [failed, skipped]: [string[], string[]] = [[], []];
  await Promise.all(
    [...asked.values()].map(async (artifact) => {
      const { name, version } = artifact;
      try {
        const all = partsOf(version) === undefined ? undefined : await publishers.versions(artifact);
        const later = laterVersions(version, all ?? []);
        const patch = later.find((each) => follow.includes(name) || minorOf(each) === minorOf(version));
        if (all === undefined) skipped.push(`${name} ${version}`);
        else if (patch !== undefined) newer.push({ name, version, newest: patch });
        const [newest] = later;
        if (newest !== undefined && newest !== patch && minorOf(newest) !== minorOf(version))
          minors.push({ name, version, newest });
      } catch (error) {
        failed.push(`${name} ${version}: ${error instanceof Error ? error.message : error}`);
      }
    }),
  );
  const inOrder = (some: readonly Newer[]) =>
    some.toSorted((a, b) => (a.name === b.name ? compareVersions(a.version, b.version) : a.name < b.name ? -1 : 1));
  // Of a name with a version per Kubernetes minor, the newest counts.
  const last = new Map(inOrder(minors).map((each) => [each.name, each]));
  const isNew = ({ name, newest }: Newer) =>
    !lock.some((row) => row.name === name && compareVersions(row.version, newest) >= 0);
  return { newer: inOrder(newer), minors: [...last.values()].filter(isNew), failed, skipped };
}

/** Later versions of the same form, the newest first; a `v` in front does not matter. */
function laterVersions(version: string, all: readonly string[]): readonly string[] {
  const numbersOf = (text: string) => {
    const parts = partsOf(text);
    const minor = parts?.minor.split(".").map(Number) ?? [];
    return { form: parts?.form, numbers: [...minor, ...(parts?.numbers ?? [])] };
  };
  const own = numbersOf(version);
  return all
    .map((text) => text.replace(/^v/, ""))
    .filter((text) => {
      const { form, numbers } = numbersOf(text);
      return form !== undefined && form === own.form && compareNumbers(numbers, own.numbers) > 0;
    })
    .sort((a, b) => compareNumbers(numbersOf(b).numbers, numbersOf(a).numbers));
}

/** A program and its image move together or not at all. */
export function takeable(newer: readonly Newer[], together: readonly (readonly string[])[]): readonly Newer[] {
  return newer.filter(({ name, newest }) =>
    (together.find((group) => group.includes(name)) ?? []).every((own) =>
      newer.some((each) => each.name === own && releaseOf(each.newest) === releaseOf(newest)),
    ),
  );
}

export function newerVersions(text: string, newer: readonly Newer[]): string {
  return withScalars(text, (keys, value) => {
    if (keys[0] === "published" || keys[0] === "known") return undefined;
    const name = keys[0] === "defaultRelease" ? kubernetesName : keys;
    return newer.find((each) => name.includes(each.name) && each.version === value)?.newest;
  });
}

/** The stack file with a newer Kubernetes, where it has its minor's newest so far. */
export function newerStack(text: string, newer: readonly Newer[]): string {
  return withScalars(text, (keys, value) =>
    keys.join(" ") === "config fenestra:kubernetes version"
      ? newer.find(({ name, version }) => name === kubernetesName && version === value)?.newest
      : undefined,
  );
}

/** Replaces scalars in YAML or JSON, in block or flow style; the rest stays to the byte. */
function withScalars(text: string, replace: (keys: readonly string[], value: unknown) => string | undefined): string {
  const parts: string[] = [];
  let done = 0;
  visit(parseDocument(text), {
    Scalar: (_, { value, range }, ancestors) => {
      if (!range) return;
      const keys = ancestors.filter(isPair).map(({ key }) => String(isScalar(key) ? key.value : key));
      const other = replace(keys, value);
      if (other === undefined) return;
      parts.push(text.slice(done, range[0]), text.slice(range[0], range[1]).replace(String(value), other));
      done = range[1];
    },
  });
  return parts.join("") + text.slice(done);
}
