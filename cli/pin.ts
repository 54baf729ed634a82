import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { moreArtifacts } from "../components/config/projectFile.ts";
import { type Artifact, readArtifactLock } from "../components/model/artifacts.ts";
import { isLaterPatch, isProgram, placesOf, runsAhead } from "../components/model/moreArtifacts.ts";
import { ConfigError } from "../components/model/problem.ts";
import {
  defaultRelease,
  minorOf,
  namedVersions,
  type VersionTable,
  type VersionTree,
} from "../components/model/releases.ts";
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { movesTo, withDigests } from "./pin/ahead.ts";
import {
  atVersion,
  findNewer,
  kubernetesName,
  nameOf,
  newerStack,
  newerVersions,
  type PinResult,
  pinLock,
  renderLock,
  sorted,
  takeable,
  withNamed,
  withRelease,
} from "./pin/lock.ts";
import { readUpstream, withManifests } from "./pin/manifests.ts";
import { withNews } from "./pin/news.ts";
import { Publishers } from "./pin/publishers.ts";
import { findProject, programFolder } from "./project.ts";

const lockPath = "components/model/artifacts.lock.json";
const upstreamPath = "components/model/upstream.lock.json";

const tree: z.ZodType<VersionTree> = z.union([
  z.string(),
  z.record(
    z.string(),
    z.lazy(() => tree),
  ),
]);
const section = z.record(z.string(), tree);
const sections = { components: section, others: section, images: section, networks: z.record(z.string(), section) };
const tableSchema = z.object({
  ...sections,
  together: z.array(z.array(z.string())),
  follow: z.array(z.string()).default([]),
});

const help = `Usage: fenestra pin [[NAME] VERSION] [options]

Asks the publishers for the digests of everything in components/model/artifacts.lock.json: what is recorded must be what they say, what is
missing is recorded, also what versions.json names at another version. In a repository that has Fenestra as a submodule everything goes to
${moreArtifacts} beside the stack files: Kubernetes releases, digests that Fenestra's own file lacks, and what runs ahead of it.
With VERSION (${defaultRelease}) the programs of that Kubernetes release are added, for every role; the two newest releases of a minor stay.
With NAME too, as in versions.json, the later patch of that program or image is taken, for every system, with what moves together with it;
in a submodule's repository its rows go by themselves once Fenestra has that patch. Of an add-on at another version its project's manifests are read
too, and what they say otherwise is printed (${upstreamPath}). The lock file is written only when nothing differs and nothing failed.

  --check         write nothing, and say which newer patch releases the publishers have of the minors in the lock file
  --patches       take these patch releases: into the lock file, into versions.json, and into each stack file whose version is
                  the newest one of its minor so far
  --sha256 TEXT   with NAME: a digest that the publisher does not give, as SHA256, OS=SHA256 or NAME:OS=SHA256
  --only TEXT     only artifacts whose name or version contains TEXT
  --accept-moved  take the new image where a publisher has moved a tag
  --via URL       reach each publisher as URL/<host>/<path>: a mirror in place of the internet
  --root DIR      another checkout of this repository

Exit code 1 when a digest differs, a publisher failed, or --check finds a newer patch release.
`;

export const command: Command = { help, run: (args, terminal) => pin(args, terminal) };

async function pin(args: readonly string[], { out, err }: Terminal): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      check: { type: "boolean", default: false },
      only: { type: "string" },
      "accept-moved": { type: "boolean", default: false },
      via: { type: "string" },
      patches: { type: "boolean", default: false },
      root: { type: "string" },
      sha256: { type: "string", multiple: true, default: [] },
    },
  });
  const { check, only, patches, via } = values;
  const project =
    values.root === undefined
      ? findProject()
      : { root: values.root, stacks: path.join(values.root, "stacks"), own: true };
  const root = values.root ?? programFolder;
  if (positionals.length > 2)
    throw new UsageError(`pin takes a version, or a name and its version, not ${positionals.join(" ")}`);
  const [name, version] = positionals.length === 2 ? positionals : [undefined, positionals[0]];
  if (name === undefined && values.sha256.length > 0)
    throw new UsageError("--sha256 is about one program or image; allowed: with NAME and VERSION");
  if (check && patches) throw new UsageError("--check writes nothing, and --patches writes; allowed: one of them");
  if (via !== undefined && !/^https?:$/.test(URL.parse(via)?.protocol ?? ""))
    throw new UsageError(`--via ${via} is not a URL; allowed: one such as https://mirror.example.com`);
  const files = readFiles(root, project.stacks);
  const own = readLock(root, path.join(root, lockPath));
  const versionFile = path.join(root, "versions.json");
  const file = project.own ? path.join(root, lockPath) : path.join(project.stacks, moreArtifacts);
  const textOf = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  const textBefore = withUserFile(file, "a file", textOf);
  const users = project.own || textBefore === "" ? [] : readLock(root, file);
  const before = project.own ? own : [...own.filter((row) => isProgram(row) || row.digest === null), ...users];
  const { together, follow } = readVersions(files);
  const number = version?.replace(/^v/, "");
  const newer = users.find((row) => row.name === name && isLaterPatch(row.version, number ?? ""));
  if (newer !== undefined)
    throw new UsageError(`${file} has ${name} ${newer.version}: take its rows out for an earlier patch`);
  const moves = refusing(() => (name === undefined ? [] : movesTo(own, name, number ?? "", together)));
  const rows = refusing(() =>
    withDigests(
      moves.map(({ to }) => to),
      values.sha256,
    ),
  );
  /** What a program as a submodule names is its own affair. */
  const named = (table: ReadonlyMap<string, string>, minor?: string) =>
    project.own ? namedVersions(readVersions(table), minor) : [];
  const chosen = ({ name, version: own }: Artifact) => only === undefined || `${name} ${own}`.includes(only);
  const moving = new Set([...moves.map(({ from }) => from), ...rows].map(nameOf));
  const asked = refusing(() => {
    if (name !== undefined) return sorted([...before.filter((row) => !moving.has(nameOf(row))), ...rows]);
    const all = project.own ? withNamed(before, named(files), chosen) : sorted(before);
    return number === undefined ? all : withRelease(all, number);
  });
  if (only !== undefined && !asked.some(chosen))
    throw new UsageError(
      `--only ${only} is in the name or version of no artifact; allowed: a part of one, such as kubelet`,
    );

  const publishers = new Publishers(via);
  const ahead = placesOf(own, users).filter(runsAhead);
  const looked = (project.own ? asked : [...asked.filter(isProgram), ...ahead]).filter(chosen);
  const look =
    check || patches
      ? await findNewer(looked, publishers, project.own ? follow : [])
      : { newer: [], minors: [], failed: [], skipped: [] };
  const taken = patches
    ? takeable(look.newer, together)
    : moves.map(({ from, to }) => ({ name: from.name, version: from.version, newest: to.version }));
  const after = new Map(
    [...files].map(([name, text]) => [
      name,
      !name.endsWith(".json") ? newerStack(text, taken) : project.own ? newerVersions(text, taken) : text,
    ]),
  );
  /** What is named moves with all of its rows already. */
  const later = (name === undefined ? ahead : []).flatMap((row) =>
    taken.flatMap(({ name, version, newest }) =>
      row.name === name && row.version === version ? [atVersion(row, newest)] : [],
    ),
  );
  const moved = project.own
    ? withNamed(asked, named(after), ({ name }) => taken.some((each) => each.name === name))
    : sorted([...asked, ...later]);
  const lock = taken
    .filter(({ name }) => name === kubernetesName)
    .reduce((some, { newest }) => withRelease(some, newest), moved);
  /** A user's run fills only missing digests of the program. */
  const mayFill = ({ digest }: Artifact) => digest === null && version === undefined && !check;
  const isAsked = (artifact: Artifact) =>
    name !== undefined
      ? rows.includes(artifact)
      : (project.own || !own.includes(artifact) || mayFill(artifact)) &&
        (chosen(artifact) || !before.includes(artifact));
  const results = await pinLock(lock, publishers, values["accept-moved"], isAsked);

  const upstream = path.join(root, upstreamPath);
  const manifests = await withManifests(
    project.own ? readUpstream(upstream) : {},
    named(after, minorOf(defaultRelease)).filter(
      ({ name, version: own }) => only === undefined || `${name} ${own}`.includes(only),
    ),
    publishers,
  );

  const isWhole = project.own && name === undefined && only === undefined;
  const {
    text,
    news,
    failed: unknown,
  } = isWhole
    ? await withNews(after.get(versionFile) ?? "", lock, publishers)
    : { text: undefined, news: [], failed: [] };
  if (text !== undefined) after.set(versionFile, text);

  const of = (outcome: PinResult["outcome"]) => results.filter((result) => result.outcome === outcome);
  const failed = [...of("different"), ...of("failed")]
    .flatMap(({ message }) => message ?? [])
    .concat(look.failed, manifests.failed, unknown)
    .concat(
      of("unverified").flatMap(({ artifact, message }) =>
        rows.includes(artifact) && artifact.digest === null
          ? `${message}; allowed: --sha256 ${artifact.name}:${artifact.os}=SHA256`
          : [],
      ),
    );
  for (const line of shortened(failed)) err(`✗ ${line}\n`);
  if (of("failed").length > 0 && of("failed").length + of("kept").length === results.length)
    err("No publisher could be reached. Run this where there is internet, or give a mirror by --via URL.\n");
  for (const { from, to } of moves)
    if (failed.length === 0) out(`taken: ${from.name} ${from.version} -> ${to.version} (${to.os})\n`);
  for (const { message } of of("moved")) err(`! ${message}\n`);
  for (const { message } of of("unverified")) err(`· ${message}\n`);
  const counts = (["verified", "recorded", "moved", "different", "failed"] as const).map(
    (outcome) => `${of(outcome).length} ${outcome}`,
  );
  out(`${counts.join(", ")}, ${of("unverified").length} without a published digest\n`);
  for (const each of look.newer) {
    const word = check ? "newer" : taken.includes(each) ? "taken" : "left";
    const why = word === "left" ? ": it moves together with another, which has not that release" : "";
    out(`${word}: ${each.name} ${each.version} -> ${each.newest}${why}\n`);
  }
  if (look.skipped.length > 0)
    out(`not looked for, since there is no list of patch releases: ${look.skipped.join(", ")}\n`);
  for (const each of look.minors)
    out(`minor: ${each.name} ${each.version} -> ${each.newest}, which --patches never takes\n`);
  for (const line of [...manifests.changed.map((each) => `manifest: ${each}`), ...news]) out(`${line}\n`);
  if (failed.length > 0) {
    err("fenestra: the lock file was left as it is\n");
    return exitCodes.findings;
  }
  if (check)
    return look.newer.length + manifests.changed.length + news.length === 0 ? exitCodes.fine : exitCodes.findings;
  const artifacts = results.map(({ artifact }) => artifact);
  const places = placesOf(
    own,
    artifacts.filter((artifact) => !own.includes(artifact)),
  );
  const gone = project.own ? [] : places.filter(({ replaces }) => replaces?.length === 0);
  for (const row of gone) out(`gone: ${nameOf(row)}: Fenestra has that patch, or a later one\n`);
  const kept = project.own
    ? artifacts
    : artifacts.filter((row) => !own.includes(row) && !gone.some((each) => nameOf(each) === nameOf(row)));
  if (textOf() !== textBefore) throw new UsageError(`${file} has changed since this run read it: run it again`);
  const write = (name: string, text: string) =>
    withUserFile(name, "a file that is yours to write", () => writeFileSync(name, text));
  if (kept.length > 0 || existsSync(file)) write(file, renderLock(kept));
  if (manifests.changed.length > 0) write(upstream, `${JSON.stringify(manifests.lock, null, 2)}\n`);
  for (const [name, text] of after) if (text !== files.get(name)) write(name, text);
  return exitCodes.fine;
}

/** The first three of one reason, such as a host out of reach. */
function shortened(messages: readonly string[]): readonly string[] {
  return [...Map.groupBy(messages, (message) => message.slice(message.lastIndexOf(": ") + 2))].flatMap(
    ([reason, all]) => [...all.slice(0, 3), ...(all.length > 3 ? [`... and ${all.length - 3} more: ${reason}`] : [])],
  );
}

/** `versions.json` and the stack files, by path. */
function readFiles(root: string, folder: string): ReadonlyMap<string, string> {
  return withUserFile(`--root ${root}`, "a checkout of this repository", () => {
    const stacks = readdirSync(folder).filter((name) => /^Pulumi\..+\.yaml$/.test(name));
    const paths = [path.join(root, "versions.json"), ...stacks.map((name) => path.join(folder, name))];
    return new Map(paths.map((each) => [each, readFileSync(each, "utf8")]));
  });
}

function readVersions(files: ReadonlyMap<string, string>): VersionTable & { readonly follow: readonly string[] } {
  const [, text = ""] = [...files].find(([name]) => path.basename(name) === "versions.json") ?? [];
  return tableSchema.parse(JSON.parse(text));
}

function readLock(root: string, file: string): readonly Artifact[] {
  try {
    return withUserFile(`--root ${root}`, "a checkout of this repository", () => readArtifactLock(file));
  } catch (error) {
    if (!(error instanceof ConfigError) || file !== path.join(root, lockPath)) throw error;
    throw new UsageError(
      `--root ${root}: ${lockPath} is not a lock file of artifacts; allowed: a checkout of this repository`,
    );
  }
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}
