import { z } from "zod";
import { moreArtifacts } from "../../components/config/stackFile.ts";
import {
  type Artifact,
  isImage,
  isLaterPatch,
  isProgram,
  partnersOf,
  partsOf,
  placesOf,
  releaseOf,
  windowsImageQueries,
} from "../../components/model/artifacts.ts";
import { windowsReleases } from "../../components/model/operatingSystems.ts";
import { didYouMean } from "../../components/model/problem.ts";
import {
  compareVersions,
  defaultRelease,
  minorOf,
  minors,
  namedVersions,
  releasePrograms,
  type VersionTree,
} from "../../components/model/releases.ts";
import { UsageError } from "../exit.ts";
import { checksumUrl, digestOf, type Publishers, reasonOf } from "./publishers.ts";

/** What is recorded. */
export interface Lock {
  /** The program's artifacts. */
  readonly rows: readonly Artifact[];
  /** Those of a repository that has the program as a submodule, where nothing else is recorded. */
  readonly users?: readonly Artifact[] | undefined;
}

const tree: z.ZodType<VersionTree> = z.union([
  z.string(),
  z.record(
    z.string(),
    z.lazy(() => tree),
  ),
]);
const section = z.record(z.string(), tree);

/** What of `versions.json` is read and written. */
export const versionsSchema = z.object({
  ...{ components: section, others: section, images: section, networks: z.record(z.string(), section) },
  together: z.array(z.array(z.string())),
});
type Versions = z.output<typeof versionsSchema>;

/** The versions wanted: those of `versions.json`, with a release of Kubernetes or a component besides. */
export interface Wanted {
  readonly versions: Versions;
  readonly release?: string | undefined;
  readonly component?: Component | undefined;
}

/** A program or image of the lock at a later patch. */
interface Component {
  readonly name: string;
  readonly version: string;
}

export const pinOutcomes = ["verified", "recorded", "unverified", "different", "failed", "kept"] as const;

interface PinResult {
  readonly artifact: Artifact;
  readonly outcome: (typeof pinOutcomes)[number];
  readonly message?: string;
}

/** What becomes of it all. */
export interface Pinned extends Pick<Wanted, "versions"> {
  /** As it was, with the versions, where something failed. */
  readonly lock: Lock;
  /** In the lock's order. */
  readonly results: readonly PinResult[];
  /** Rows of the component. */
  readonly taken: readonly Artifact[];
  /** Rows of a user that the program has meanwhile. */
  readonly gone: readonly Artifact[];
  /** Why nothing is recorded. */
  readonly failed: readonly string[];
}

/** Few enough for publishers that count. */
const atOnce = 8;

/**
 * The lock with the versions wanted, each with the digest that its publisher gives: a recorded one must be that.
 *
 * @throws UsageError for what cannot be wanted
 */
export async function pin(
  lock: Lock,
  wanted: Wanted,
  publishers: Publishers,
  progress: (doing: string) => void = () => {},
): Promise<Pinned> {
  const { rows, taken, versions, isAsked } = rowsOf(lock, wanted);
  const look = async (artifact: Artifact): Promise<PinResult> => {
    if (!isAsked(artifact)) return { artifact, outcome: "kept" };
    progress(`asking for ${nameOf(artifact)}`);
    return await judged(artifact, publishers);
  };
  const results: PinResult[] = [];
  while (results.length < rows.length)
    results.push(...(await Promise.all(rows.slice(results.length, results.length + atOnce).map(look))));
  const failed = results.flatMap(({ artifact, outcome, message = "" }) => {
    if (outcome === "different" || outcome === "failed") return [message];
    const isOpen = outcome === "unverified" && artifact.digest === null && taken.includes(artifact);
    return isOpen ? [`${message}: copy the row of its earlier patch, with this version and a digest of yours`] : [];
  });
  const found = { results, failed };
  if (failed.length > 0) return { lock, versions: wanted.versions, ...found, taken: [], gone: [] };
  const all = results.map(({ artifact }) => artifact);
  if (lock.users === undefined) return { lock: { rows: all }, versions, ...found, taken, gone: [] };
  const theirs = all.filter((row) => !lock.rows.includes(row));
  const gone = placesOf(lock.rows, theirs).filter(({ replaces }) => replaces?.length === 0);
  const users = over(theirs, gone).filter((row) => !gone.includes(row));
  return { lock: { ...lock, users }, versions: wanted.versions, ...found, taken, gone };
}

/** Rows that there are to be, sorted, and those of them that are asked for. A user's stay. */
function rowsOf({ rows: own, users }: Lock, { versions: table, release, component }: Wanted) {
  const versions = component === undefined ? table : withComponent(table, component);
  const named = withNamed(own, versions);
  const taken = component === undefined ? [] : takenOf(named, own, users, component, table.together);
  const isMeant = (row: Artifact) => component === undefined || taken.includes(row);
  const known = users === undefined ? named.filter((row) => own.includes(row) || isMeant(row)) : over(own, users);
  const rows = over(release === undefined ? known : withRelease(known, release), taken);
  // A user may fill in what the program lacks, and with a release nothing but that is taken.
  const isFixed = (row: Artifact) =>
    users !== undefined && own.includes(row) && (row.digest !== null || release !== undefined);
  const isAsked = (row: Artifact) => !isFixed(row) && (isMeant(row) || !known.includes(row));
  return { rows: sorted(rows), taken, versions, isAsked };
}

/** Rows, with more in place of the same ones. */
const over = (rows: readonly Artifact[], more: readonly Artifact[]): readonly Artifact[] => {
  const names = new Set(more.map(nameOf));
  return [...rows.filter((row) => !names.has(nameOf(row))), ...more];
};

/** All programs of a release, without digests. @throws UsageError for one that cannot be chosen */
function releaseArtifacts(version: string): readonly Artifact[] {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new UsageError(
      `${version} is not a release such as ${defaultRelease}; of a program or an image: NAME VERSION`,
    );
  if (!minors.some(({ minor }) => minor === minorOf(version)))
    throw new UsageError(
      `Kubernetes ${minorOf(version)} cannot be chosen; allowed: ${minors.map(({ minor }) => minor).join(", ")}`,
    );
  return (["linux", "windows"] as const).flatMap((os) =>
    releasePrograms[os].map((name) =>
      unknown({
        ...{ name, version, os, arch: "amd64", algorithm: "sha256" },
        url: `https://dl.k8s.io/release/v${version}/bin/${os}/amd64/${name}`,
      }),
    ),
  );
}

/** Releases kept of a minor: the newest, and one to go back to. */
const keptReleases = 2;

/** Each minor keeps its newest releases alone. */
function withRelease(lock: readonly Artifact[], version: string): readonly Artifact[] {
  const all = over(releaseArtifacts(version), lock);
  const releases = new Set(all.filter(isProgram).map((row) => row.version));
  const byMinor = Map.groupBy([...releases].sort(compareVersions), minorOf);
  const kept = new Set([...byMinor.values()].flatMap((some) => some.slice(-keptReleases)));
  if (!kept.has(version))
    throw new UsageError(
      `${version} would not stay: of its minor the lock file keeps ${[...kept].filter((each) => minorOf(each) === minorOf(version)).join(" and ")}`,
    );
  return all.filter((row) => !isProgram(row) || kept.has(row.version));
}

/**
 * What is named and missing is added without digests, for the platforms and at the place of the newest of that name and
 * minor; a new image at the tag of its version, with a v. Versions of a known name that are no longer named go.
 */
function withNamed(lock: readonly Artifact[], versions: Versions): readonly Artifact[] {
  const all = [...namedVersions(versions), ...windowsReleases.flatMap(windowsImageQueries)];
  const added = all.flatMap(({ name, version, os }) => {
    const known = lock.filter((row) => row.name === name && (os === undefined || row.os === os));
    if (known.some((row) => row.version === version)) return [];
    if (known.length === 0 && Object.hasOwn(versions.images, name)) return [newImage(name, version, os)];
    // Another minor's image tags may be made otherwise.
    const newest = known.findLast((row) => minorOf(row.version) === minorOf(version)) ?? known.at(-1);
    return known
      .filter((row) => row.version === newest?.version)
      .map((row) => {
        return unknown({ ...row, version, url: row.url.replace(/@sha256:.*$/, "").replaceAll(row.version, version) });
      });
  });
  const isNamed = ({ name, version, os }: Artifact) =>
    all.some((each) => each.name === name && each.version === version && (each.os ?? os) === os);
  return [...lock.filter((row) => isProgram(row) || isNamed(row)), ...added];
}

const newImage = (name: string, version: string, os: string | undefined): Artifact => {
  const url = `${name}:v${version}`;
  const form = { arch: "any", algorithm: "sha256" } as const;
  return unknown({ name, version, os: os === "linux" || os === "windows" ? os : "any", url, ...form });
};

function unknown({ checksumUrl: _, replaces: __, ...row }: Omit<Artifact, "digest" | "source">): Artifact {
  const url = isImage(row) ? undefined : checksumUrl(row);
  return { ...row, digest: null, source: "not recorded yet", ...(url !== undefined && { checksumUrl: url }) };
}

/** The version in the form of another, such as a system's tag. */
const inForm = (version: string, other: string): string =>
  partsOf(version)?.form === partsOf(other)?.form ? version : other.replace(releaseOf(other), releaseOf(version));

/** Later patches of the name and of what moves together with it. */
function withComponent(table: Versions, { name: wanted, version }: Component): Versions {
  const names = partnersOf(wanted, table.together);
  const moved = (tree: VersionTree, name: string): VersionTree => {
    if (typeof tree !== "string") return mapped(tree, (each) => moved(each, name));
    const later = inForm(version, tree);
    return names.includes(name) && isLaterPatch(later, tree) ? later : tree;
  };
  const within = (own: Readonly<Record<string, VersionTree>>) => mapped(own, moved);
  const { components, others, images, networks } = table;
  return {
    ...table,
    ...{ components: within(components), others: within(others), images: within(images) },
    networks: mapped(networks, within),
  };
}

const mapped = <A, B>(of: Readonly<Record<string, A>>, change: (each: A, key: string) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(of).map(([key, each]) => [key, change(each, key)]));

/**
 * Rows without a digest of a name and its partners at a version, for every system.
 *
 * @throws UsageError for an unknown name, what the user has later, and what is no later patch
 */
function takenOf(
  named: readonly Artifact[],
  lock: readonly Artifact[],
  users: readonly Artifact[] = [],
  { name, version }: Component,
  together: Versions["together"],
): readonly Artifact[] {
  const ahead = users.find((row) => row.name === name && isLaterPatch(row.version, version));
  if (ahead !== undefined)
    throw new UsageError(`${moreArtifacts} has ${name} ${ahead.version}: take its rows out for an earlier patch`);
  const taken = named
    .filter((row) => partnersOf(name, together).includes(row.name) && row.digest === null)
    .filter((row) => row.version === inForm(version, row.version));
  if (taken.some((row) => row.name === name && row.version === version)) return taken;
  const own = lock.filter((row) => row.name === name);
  const versions = [...new Set(own.map((row) => row.version))];
  if (own.length === 0) {
    const guess = didYouMean(name, [...new Set(lock.map((row) => row.name))]);
    throw new UsageError(`nothing in the lock file is called ${name}${guess === undefined ? "" : `: ${guess}`}`);
  }
  if (versions.includes(version)) throw new UsageError(`${name} ${version} is in the lock file, with its digests`);
  if (own.some(isProgram))
    throw new UsageError(`${name} comes with its release of Kubernetes: fenestra pin ${version} takes that`);
  throw new UsageError(
    `${name} ${version} is no later patch of ${versions.join(", ")}; allowed: one of the same minor and form`,
  );
}

/** The row with its digest; an image's reference has it, too. */
function withDigest({ checksumUrl: _, ...row }: Artifact, digest: string, source: string): Artifact {
  const url = isImage(row) ? `${row.url.replace(/@.*$/, "")}@sha256:${digest}` : row.url;
  return { ...row, url, digest, source };
}

/** `kubelet 1.36.4 (linux/amd64)`. */
export const nameOf = ({ name, version, os, arch }: Artifact): string => `${name} ${version} (${os}/${arch})`;

/** By name, version, platform. */
function sorted(lock: readonly Artifact[]): readonly Artifact[] {
  const text = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  return lock.toSorted(
    (a, b) => text(a.name, b.name) || compareVersions(a.version, b.version) || text(nameOf(a), nameOf(b)),
  );
}

/** A missing digest is taken; what is recorded may not change. */
async function judged(artifact: Artifact, publishers: Publishers): Promise<PinResult> {
  const said = (outcome: PinResult["outcome"], text: string) => {
    return { artifact, outcome, message: `${nameOf(artifact)}: ${text}` };
  };
  try {
    const { digest, from } = await digestOf(artifact, publishers);
    if (digest === undefined) return said("unverified", `${from} gives no digest of it`);
    if (artifact.digest === digest) return { artifact, outcome: "verified" };
    const recorded = withDigest(artifact, digest, from);
    if (artifact.digest === null) return { artifact: recorded, outcome: "recorded" };
    const both = `the lock file has ${artifact.digest}, the publisher says ${digest} (${from})`;
    if (!isImage(artifact)) return said("different", `${both}. Find out why before you use it`);
    return said("different", `the tag was moved: ${both}. To take the new image, set its digest to null there first`);
  } catch (error) {
    return said("failed", reasonOf(error));
  }
}
