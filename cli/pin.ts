import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { moreArtifacts } from "../components/config/projectFile.ts";
import { type Artifact, readArtifactLock } from "../components/model/artifacts.ts";
import {
  defaultRelease,
  minorOf,
  namedVersions,
  type VersionTable,
  type VersionTree,
} from "../components/model/releases.ts";
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError, withUserFile } from "./exit.ts";
import {
  findNewer,
  judge,
  kubernetesName,
  nameOf,
  newerStack,
  newerVersions,
  type PinResult,
  renderLock,
  takeable,
  withNamed,
  withRelease,
} from "./pin/lock.ts";
import { readUpstream, withManifests } from "./pin/manifests.ts";
import { isProgram, Publishers } from "./pin/publishers.ts";
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
const tableSchema = z.object({ ...sections, together: z.array(z.array(z.string())) });

/** Publishers asked at the same time: few enough for those that count. */
const atOnce = 8;

const help = `Usage: fenestra pin [VERSION] [options]

Asks the publishers for the digests of everything in components/model/artifacts.lock.json: what is recorded must be what they say, what is
missing is recorded, also what versions.json names at another version. In a repository that has Fenestra as a submodule it is asked for
Kubernetes releases alone, which go to ${moreArtifacts} beside the stack files; that file is read after Fenestra's own. With VERSION (${defaultRelease}) the programs of that Kubernetes
release are added, for every role; the two newest releases of a minor stay. Of an add-on at another version its project's manifests are read
too, and what they say otherwise is printed (${upstreamPath}). The lock file is written only when nothing differs and nothing failed.

  --check         write nothing, and say which newer patch releases the publishers have of the minors in the lock file
  --patches       take these patch releases: into the lock file, into versions.json, and into each stack file whose version is
                  the newest one of its minor so far
  --only TEXT     only artifacts whose name or version contains TEXT
  --accept-moved  take the new image where a publisher has moved a tag
  --via URL       reach each publisher as URL/<host>/<path>: a mirror in place of the internet
  --root DIR      another checkout of this repository

Exit code 1 when a digest differs, a publisher failed, or --check finds a newer patch release.
`;

/** `fenestra pin`. Exit code 1 when a digest differs, a publisher failed, or a check finds a newer patch release. */
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
    },
  });
  const { check, only, patches, via } = values;
  const project =
    values.root === undefined
      ? findProject()
      : { root: values.root, stacks: path.join(values.root, "stacks"), own: true };
  const root = values.root ?? programFolder;
  const [version, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`pin takes one version, not ${positionals.join(" ")}`);
  if (check && patches) throw new UsageError("--check writes nothing, and --patches writes; allowed: one of them");
  if (via !== undefined && !/^https?:$/.test(URL.parse(via)?.protocol ?? ""))
    throw new UsageError(`--via ${via} is not a URL; allowed: one such as https://mirror.example.com`);
  const files = readFiles(root, project.stacks);
  const own = readLock(root, path.join(root, lockPath));
  const file = project.own ? path.join(root, lockPath) : path.join(project.stacks, moreArtifacts);
  const before = project.own ? own : [...own.filter(isProgram), ...(existsSync(file) ? readLock(root, file) : [])];
  /** Where the program is a submodule, what it names and pins is its own affair. */
  const named = (table: ReadonlyMap<string, string>, minor?: string) =>
    project.own ? namedVersions(readVersions(table), minor) : [];
  const chosen = ({ name, version: own }: Artifact) => only === undefined || `${name} ${own}`.includes(only);
  const asked = release(withNamed(before, named(files), chosen), version?.replace(/^v/, ""));
  if (only !== undefined && !asked.some(chosen))
    throw new UsageError(
      `--only ${only} is in the name or version of no artifact; allowed: a part of one, such as kubelet`,
    );

  const publishers = new Publishers(via);
  const look =
    check || patches ? await findNewer(asked.filter(chosen), publishers) : { newer: [], failed: [], skipped: [] };
  const taken = patches ? takeable(look.newer, readVersions(files).together) : [];
  const after = new Map(
    [...files].map(([name, text]) => [name, (name.endsWith(".json") ? newerVersions : newerStack)(text, taken)]),
  );
  const moved = withNamed(asked, named(after), ({ name }) => taken.some((each) => each.name === name));
  const lock = taken
    .filter(({ name }) => name === kubernetesName)
    .reduce((some, { newest }) => withRelease(some, newest), moved);
  const isAsked = (artifact: Artifact) =>
    (project.own || !own.includes(artifact)) && (chosen(artifact) || !before.includes(artifact));
  const results = await pinLock(lock, publishers, values["accept-moved"], isAsked);

  const upstream = path.join(root, upstreamPath);
  const manifests = await withManifests(
    project.own ? readUpstream(upstream) : {},
    named(after, minorOf(defaultRelease)).filter(
      ({ name, version: own }) => only === undefined || `${name} ${own}`.includes(only),
    ),
    publishers,
  );

  const of = (outcome: PinResult["outcome"]) => results.filter((result) => result.outcome === outcome);
  const failed = [...of("different"), ...of("failed")]
    .flatMap(({ message }) => message ?? [])
    .concat(look.failed, manifests.failed);
  for (const line of shortened(failed)) err(`✗ ${line}\n`);
  if (of("failed").length > 0 && of("failed").length + of("kept").length === results.length)
    err("No publisher could be reached. Run this where there is internet, or give a mirror by --via URL.\n");
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
  for (const line of manifests.changed) out(`manifest: ${line}\n`);
  if (failed.length > 0) {
    err("fenestra: the lock file was left as it is\n");
    return exitCodes.findings;
  }
  if (check) return look.newer.length + manifests.changed.length === 0 ? exitCodes.fine : exitCodes.findings;
  const kept = results.filter(({ artifact }) => project.own || !own.includes(artifact)).map(({ artifact }) => artifact);
  if (kept.length > 0 || existsSync(file)) writeFileSync(file, renderLock(kept));
  if (manifests.changed.length > 0) writeFileSync(upstream, `${JSON.stringify(manifests.lock, null, 2)}\n`);
  for (const [name, text] of after) if (text !== files.get(name)) writeFileSync(name, text);
  return exitCodes.fine;
}

/** Asks for every chosen artifact and judges the answers, in the order of the lock file. */
async function pinLock(
  lock: readonly Artifact[],
  publishers: Publishers,
  acceptMoved: boolean,
  chosen: (artifact: Artifact) => boolean,
): Promise<readonly PinResult[]> {
  const results = lock.map((artifact): PinResult => ({ artifact, outcome: "kept" }));
  // One iterator for all workers: each takes the next.
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

/** What has one reason, such as a host that cannot be reached, is said of the first three and then counted. */
function shortened(messages: readonly string[]): readonly string[] {
  return [...Map.groupBy(messages, (message) => message.slice(message.lastIndexOf(": ") + 2))].flatMap(
    ([reason, all]) => [...all.slice(0, 3), ...(all.length > 3 ? [`... and ${all.length - 3} more: ${reason}`] : [])],
  );
}

/** `versions.json` and the stack files, by their paths. */
function readFiles(root: string, folder: string): ReadonlyMap<string, string> {
  return withUserFile(`--root ${root}`, "a checkout of this repository", () => {
    const stacks = readdirSync(folder).filter((name) => /^Pulumi\..+\.yaml$/.test(name));
    const paths = [path.join(root, "versions.json"), ...stacks.map((name) => path.join(folder, name))];
    return new Map(paths.map((each) => [each, readFileSync(each, "utf8")]));
  });
}

function readVersions(files: ReadonlyMap<string, string>): VersionTable {
  const [, text = ""] = [...files].find(([name]) => path.basename(name) === "versions.json") ?? [];
  return tableSchema.parse(JSON.parse(text));
}

function readLock(root: string, file: string): readonly Artifact[] {
  try {
    return withUserFile(`--root ${root}`, "a checkout of this repository", () => readArtifactLock(file));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    throw new UsageError(
      `--root ${root}: ${lockPath} is not a lock file of artifacts; allowed: a checkout of this repository`,
    );
  }
}

function release(lock: readonly Artifact[], version: string | undefined): readonly Artifact[] {
  if (version === undefined) return lock;
  try {
    return withRelease(lock, version);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}
