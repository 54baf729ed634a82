import { existsSync, readFileSync } from "node:fs";
import { z } from "zod";
import { withMore } from "./moreArtifacts.ts";
import { ConfigError, refuse } from "./problem.ts";

/** One file or image that a machine or the cluster fetches, with the digest it must have. */
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

export const artifactLockFile = new URL("artifacts.lock.json", import.meta.url);

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
  if (more === undefined || !existsSync(more)) return own;
  return withMore(own, read(more));
}

function read(file: URL | string): readonly Artifact[] {
  const refused = (why: string) =>
    new ConfigError(
      refuse(String(file), undefined, why, "rows as fenestra pin writes them", "repair it, or delete it and pin anew"),
    );
  try {
    const rows = z.array(artifactSchema).parse(JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")));
    const names = rows.map(({ name, version, os, arch }) => `${name} ${version} (${os}/${arch})`);
    const twice = names.find((each, index) => names.indexOf(each) !== index);
    if (twice !== undefined) throw new SyntaxError(`it names ${twice} twice`);
    return rows;
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error instanceof SyntaxError ? refused(error.message) : error;
    throw refused(error.issues.map((each) => `${each.path.join(".")}: ${each.message}`).join("; "));
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
      `no artifact ${query.name} ${query.version} for ${query.os} in the lock file: cli/fenestra pin --only ${query.name} adds it`,
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
