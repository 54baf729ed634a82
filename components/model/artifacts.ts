import { readFileSync } from "node:fs";
import { z } from "zod";
import versions from "../../versions.json" with { type: "json" };
import { fileProblem, isThere } from "./files.ts";
import { formProblem } from "./json.ts";
import type { WindowsFacts } from "./operatingSystems.ts";
import { ConfigError, refuse } from "./problem.ts";

const rowSchema = z.strictObject({
  /** Name of the program or image: `kubelet.exe`, `registry.k8s.io/pause`. */
  name: z.string(),
  /** Version without a leading v. */
  version: z.string(),
  os: z.enum(["linux", "windows", "any"]),
  /** `amd64` for programs: sizes of other processors are refused. */
  arch: z.enum(["amd64", "any"]),
  /** Origin; for an image its full reference with the digest. */
  url: z.string(),
  algorithm: z.enum(["sha256", "sha512"]),
  /** Hexadecimal digest; `null` when none was recorded: a download then reads the publisher's checksum file. */
  digest: z.string().nullable(),
  source: z.string(),
  /** Publisher's checksum file, for an artifact without a digest. */
  checksumUrl: z.string().optional(),
});

const artifactSchema = rowSchema
  .refine(
    ({ algorithm, digest }) =>
      digest === null || (/^[\da-f]+$/.test(digest) && digest.length * 4 === +algorithm.slice(3)),
    "its digest is none of its algorithm",
  )
  .refine(
    ({ url, digest }) => !/@sha256:/.test(url) || url.endsWith(`@sha256:${digest}`),
    "its URL has another digest",
  );

/** One file or image that a machine or the cluster fetches, with the digest it must have. */
export interface Artifact extends Readonly<z.output<typeof rowSchema>> {
  /** Of a user's row: the versions that it replaces; empty for one without effect. */
  readonly replaces?: readonly string[];
}

const artifactLockFile = new URL("artifacts.lock.json", import.meta.url);

/**
 * Environment variable that names a user's lock file: more releases of Kubernetes, and rows that run ahead of the
 * program's.
 */
export const artifactsVariable = "FENESTRA_ARTIFACTS";

/**
 * Reads a lock file of artifacts.
 *
 * @param file Default: the one beside this module, then the one that {@link artifactsVariable} names, if it exists.
 * @throws ConfigError for a file that is none
 */
export function readArtifactLock(file?: URL | string): readonly Artifact[] {
  if (file !== undefined) return read(file);
  const more = process.env[artifactsVariable];
  const own = read(artifactLockFile);
  if (more === undefined || !isThere(more)) return own;
  return withMore(own, read(more));
}

function read(file: URL | string): readonly Artifact[] {
  const refused = (why: string) =>
    new ConfigError(
      refuse(String(file), undefined, why, "rows as fenestra pin writes them", "repair it, or delete it and pin anew"),
    );
  const problem = fileProblem(file);
  if (problem !== undefined) throw refused(problem);
  try {
    const rows = z.array(artifactSchema).parse(JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")));
    const names = rows.map(({ name, version, os, arch }) => `${name} ${version} (${os}/${arch})`);
    const twice = names.find((each, index) => names.indexOf(each) !== index);
    if (twice !== undefined) throw new SyntaxError(`it names ${twice} twice`);
    return rows;
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error instanceof SyntaxError ? refused(error.message) : error;
    throw refused(formProblem(error));
  }
}

/** Whether an artifact is an image: its reference has no scheme. */
export function isImage({ url }: Pick<Artifact, "url">): boolean {
  return !url.includes("://");
}

export interface ArtifactQuery {
  readonly name: string;
  readonly version: string;
  readonly os: "linux" | "windows";
}

/** `undefined` when the lock file has none. */
export function findArtifact(lock: readonly Artifact[], query: ArtifactQuery): Artifact | undefined {
  return lock.find(
    (artifact) =>
      artifact.name === query.name &&
      (artifact.version === query.version || artifact.replaces?.includes(query.version)) &&
      (artifact.os === query.os || artifact.os === "any"),
  );
}

/** @throws RangeError when it is missing, which the config rules prevent */
export function requireArtifact(lock: readonly Artifact[], query: ArtifactQuery): Artifact {
  const artifact = findArtifact(lock, query);
  if (artifact === undefined)
    throw new RangeError(
      `no artifact ${query.name} ${query.version} for ${query.os} in the lock file: cli/fenestra pin adds it`,
    );
  return artifact;
}

/**
 * The URL a machine fetches from: the publisher's, or the mirror's base URL followed by the publisher's host and path,
 * with the same digest.
 */
export function downloadUrl(url: string, mirror: string | undefined): string {
  if (mirror === undefined) return url;
  const { host, pathname } = new URL(url);
  return `${mirror.replace(/\/+$/, "")}/${host}${pathname}`;
}

interface Row {
  readonly name: string;
  readonly version: string;
  readonly os: string;
  readonly url: string;
  readonly digest: string | null;
  readonly replaces?: readonly string[];
}

/** `4.12.0-eksbuild.2` as minor `4.12`, form `-eksbuild.#` and numbers 0 and 2; `undefined` for other versions. */
export function partsOf(version: string): { minor: string; form: string; numbers: readonly number[] } | undefined {
  const [, minor, patch, rest = ""] = /^(\d+\.\d+)\.(\d+)((?:-.*)?)$/.exec(version) ?? [];
  if (minor === undefined || patch === undefined) return undefined;
  return { minor, form: rest.replaceAll(/\d+/g, "#"), numbers: [patch, ...(rest.match(/\d+/g) ?? [])].map(Number) };
}

/** How much later a version is than another patch of its minor and form; else `undefined`. */
function laterBy(version: string, other: string): number | undefined {
  const [a, b] = [partsOf(version), partsOf(other)];
  if (a === undefined || b === undefined || a.minor !== b.minor || a.form !== b.form) return undefined;
  return a.numbers.map((number, index) => number - (b.numbers[index] ?? 0)).find((by) => by !== 0) ?? 0;
}

export const isLaterPatch = (version: string, other: string): boolean => (laterBy(version, other) ?? 0) > 0;

/** `3.6.14` of `3.6.14-0`. */
export const releaseOf = (version: string): string => version.replace(/-.*/, "");

/** Whether it is a program of a Kubernetes release. */
export function isProgram({ url }: Pick<Row, "url">): boolean {
  return url.startsWith("https://dl.k8s.io/release/");
}

/** Names that move with one, itself among them. */
export function partnersOf(name: string, together: readonly (readonly string[])[] = versions.together) {
  return together.find((group) => group.includes(name)) ?? [name];
}

/**
 * A user's rows, each with the versions that it replaces, none where it has no effect. A later patch of what the
 * program pins replaces it until the program has that patch or a later one; a row with a digest, the same without. What
 * moves together does so or not at all. A Kubernetes release that the program lacks stays as it is.
 */
export function placesOf<T extends Row>(own: readonly T[], more: readonly T[]): readonly T[] {
  const usable = more.filter(({ digest }) => digest !== null);
  const placed = more.map((row) => placeOf(row, own, usable));
  return placed.map((row) => (movesAlone(row, own, placed) ? { ...row, replaces: [] } : row));
}

/** A user's row with what it replaces by itself. */
function placeOf<T extends Row>(row: T, own: readonly Row[], usable: readonly Row[]): T {
  const theirs = own.filter((each) => isAlike(each, row));
  const same = theirs.find(({ version }) => version === row.version);
  if (same === undefined && isProgram(row)) return row;
  const rivals = [...theirs, ...usable.filter((each) => isAlike(each, row))];
  const isOvertaken = !isProgram(row) && rivals.some(({ version }) => isLaterPatch(version, row.version));
  if (row.digest === null || isOvertaken) return { ...row, replaces: [] };
  if (same !== undefined) return { ...row, replaces: same.digest === null ? [row.version] : [] };
  const older = theirs.map(({ version }) => version).filter((version) => isLaterPatch(row.version, version));
  return { ...row, replaces: older };
}

/** Whether something that must move with a row would stay behind. */
function movesAlone({ name, version, replaces = [] }: Row, own: readonly Row[], placed: readonly Row[]): boolean {
  const release = releaseOf(version);
  const left = replaces.filter((each) => each !== version).map(releaseOf);
  const partners = own.filter((each) => partnersOf(name).includes(each.name) && left.includes(releaseOf(each.version)));
  return partners.some((each) => {
    return releaseOf((placed.find((one) => isInPlaceOf(one, each)) ?? each).version) !== release;
  });
}

const isAlike = (a: Row, b: Row): boolean => a.name === b.name && a.os === b.os;
const isInPlaceOf = (row: Row, other: Row): boolean =>
  isAlike(row, other) && row.replaces?.includes(other.version) === true;

/** The program's rows and a user's, which may replace some of them. */
export function withMore<T extends Row>(own: readonly T[], more: readonly T[]): readonly T[] {
  const placed = placesOf(own, more);
  return [...own.filter((row) => !placed.some((each) => isInPlaceOf(each, row))), ...placed];
}

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
