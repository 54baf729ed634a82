import { type Artifact, isImage } from "../../components/model/artifacts.ts";
import { isLaterPatch, isProgram, partnersOf, partsOf, releaseOf } from "../../components/model/moreArtifacts.ts";
import { didYouMean } from "../../components/model/problem.ts";
import { minorOf } from "../../components/model/releases.ts";
import { atVersion, nameOf } from "./lock.ts";

/** A row, and what it replaces: itself where only its digest is missing. */
interface Move {
  readonly from: Artifact;
  readonly to: Artifact;
}

/**
 * Rows of a name at a later patch than the lock file's, for every system, with what moves together with it; or rows of
 * that version without a digest.
 *
 * @throws RangeError for an unknown name and any other version
 */
export function movesTo(
  lock: readonly Artifact[],
  name: string,
  version: string,
  together: readonly (readonly string[])[],
): readonly Move[] {
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
export function withDigests(rows: readonly Artifact[], given: readonly string[]): readonly Artifact[] {
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
