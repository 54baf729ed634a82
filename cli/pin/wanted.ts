import { moreArtifacts } from "../../components/config/stackFile.ts";
import {
  type Artifact,
  isImage,
  isLaterPatch,
  isProgram,
  partnersOf,
  partsOf,
  releaseOf,
} from "../../components/model/artifacts.ts";
import { didYouMean } from "../../components/model/problem.ts";
import { minorOf, type NamedVersion } from "../../components/model/releases.ts";
import { atVersion, nameOf, sorted, type Wanted, withNamed, withRelease } from "./lock.ts";

/** What `versions.json` says: names and versions, none for a submodule, whose versions are its own affair. */
export interface Versions {
  readonly named: readonly NamedVersion[];
  readonly together: readonly (readonly string[])[];
}

/** What is asked of `pin`. */
interface Request {
  /** A release of Kubernetes, or with a name that program's or image's. Default: all that there is. */
  readonly version?: string | undefined;
  readonly name?: string | undefined;
  /** A part of a name or a version. */
  readonly only?: string | undefined;
  readonly check: boolean;
  /** Digests by hand; see `withDigests`. */
  readonly sha256: readonly string[];
}

/**
 * @param lock the program's rows, or those and a user's
 * @throws RangeError for what there is not, or no later patch
 */
export function wanted(
  lock: readonly Artifact[] | { readonly own: readonly Artifact[]; readonly users: readonly Artifact[] },
  { named, together }: Versions,
  { name, version = "", only, check, sha256 }: Request,
): Wanted {
  const isOwn = "length" in lock;
  const { own, users } = isOwn ? { own: lock, users: [] } : lock;
  const before = isOwn ? own : [...own.filter((row) => isProgram(row) || row.digest === null), ...users];
  if (name !== undefined) {
    const later = users.find((row) => row.name === name && isLaterPatch(row.version, version));
    if (later !== undefined)
      throw new RangeError(`${moreArtifacts} has ${name} ${later.version}: take its rows out for an earlier patch`);
    const moves = movesTo(own, name, version, together, sha256);
    const moving = new Set(moves.flatMap(({ from, to }) => [nameOf(from), nameOf(to)]));
    const rows = moves.map(({ to }) => to);
    return {
      moves,
      rows: sorted([...before.filter((row) => !moving.has(nameOf(row))), ...rows]),
      isAsked: (row) => rows.includes(row),
    };
  }
  const chosen = (row: Artifact) => only === undefined || `${row.name} ${row.version}`.includes(only);
  const all = isOwn ? withNamed(before, named, chosen) : sorted(before);
  const rows = version === "" ? all : withRelease(all, version);
  if (!rows.some(chosen) && only !== undefined)
    throw new RangeError(
      `--only ${only} is in the name or version of no artifact; allowed: a part of one, such as kubelet`,
    );
  /** A user's run fills only missing digests of the program. */
  const mayFill = ({ digest }: Artifact) => digest === null && version === "" && !check;
  return {
    moves: [],
    rows,
    isAsked: (row) => (isOwn || !own.includes(row) || mayFill(row)) && (chosen(row) || !before.includes(row)),
  };
}

/**
 * Rows of a name at a later patch than the lock file's, for every system, with what moves together with it; or rows of
 * that version without a digest.
 *
 * @param digests by hand; see `withDigests`
 * @throws RangeError for an unknown name and any other version
 */
function movesTo(
  lock: readonly Artifact[],
  name: string,
  version: string,
  together: readonly (readonly string[])[],
  digests: readonly string[],
): Wanted["moves"] {
  const moves = movesWithout(lock, name, version, together);
  const rows = withDigests(
    moves.map(({ to }) => to),
    digests,
  );
  return moves.map((move, index) => ({ ...move, to: rows[index] ?? move.to }));
}

function movesWithout(
  lock: readonly Artifact[],
  name: string,
  version: string,
  together: readonly (readonly string[])[],
): Wanted["moves"] {
  const own = lock.filter((row) => row.name === name);
  if (own.length === 0) {
    const guess = didYouMean(name, [...new Set(lock.map((row) => row.name))]);
    throw new RangeError(`nothing in the lock file is called ${name}${guess === undefined ? "" : `: ${guess}`}`);
  }
  const same = own.filter((row) => row.version === version);
  const behind = own.filter((row) => !same.some(({ os }) => os === row.os) && isLaterPatch(version, row.version));
  if (same.length > 0) {
    const without = same.filter(({ digest }) => digest === null);
    if (without.length + behind.length === 0)
      throw new RangeError(`${name} ${version} is in the lock file, with its digests`);
    return [
      ...without.map((row) => ({ from: row, to: row })),
      ...behind.map((row) => ({ from: row, to: atVersion(row, version) })),
    ];
  }
  if (own.some(isProgram))
    throw new RangeError(`${name} comes with its release of Kubernetes: fenestra pin ${version} takes that`);
  const from = own.find((row) => isLaterPatch(version, row.version));
  if (from === undefined || own.some((row) => isLaterPatch(row.version, version))) {
    const versions = [...new Set(own.map((row) => row.version))].join(", ");
    throw new RangeError(
      `${name} ${version} is no later patch of ${versions}; allowed: one of the same minor and form`,
    );
  }
  const moves = (row: Artifact) =>
    row.name === name
      ? minorOf(row.version) === minorOf(version)
      : partnersOf(name, together).includes(row.name) && releaseOf(row.version) === releaseOf(from.version);
  const at = (row: Artifact) =>
    partsOf(row.version)?.form === partsOf(version)?.form
      ? version
      : row.version.replace(releaseOf(row.version), releaseOf(version));
  return lock.filter(moves).map((row) => ({ from: row, to: atVersion(row, at(row)) }));
}

/** Each as `[NAME:][OS=]SHA256`. @throws RangeError for another form, or not exactly one row */
function withDigests(rows: readonly Artifact[], given: readonly string[]): readonly Artifact[] {
  return given.reduce((some, text) => {
    const [, name, os, digest] = /^(?:([^:=]+):)?(?:(linux|windows|any)=)?([0-9a-f]{64})$/.exec(text) ?? [];
    if (digest === undefined)
      throw new RangeError(`--sha256 ${text} is no digest; allowed: 64 lower-case digits, such as windows=5a61...`);
    const meant = some.filter((row) => row.name === (name ?? row.name) && row.os === (os ?? row.os));
    if (meant.length !== 1)
      throw new RangeError(
        `--sha256 ${text} is about ${meant.length} files; allowed: one, as NAME:OS=SHA256, of ${some.map(nameOf).join(", ")}`,
      );
    return some.map((row) => {
      if (row !== meant[0]) return row;
      const { checksumUrl: _, url, ...rest } = row;
      return {
        ...rest,
        url: isImage(row) ? `${url}@sha256:${digest}` : url,
        algorithm: "sha256",
        digest,
        source: "given by hand",
      };
    });
  }, rows);
}
