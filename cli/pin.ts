import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Command as Declaration } from "@commander-js/extra-typings";
import { z } from "zod";
import { moreArtifacts } from "../components/config/stackFile.ts";
import { type Artifact, placesOf, readArtifactLock } from "../components/model/artifacts.ts";
import { ConfigError } from "../components/model/problem.ts";
import { defaultRelease, minorOf, namedVersions, type VersionTree } from "../components/model/releases.ts";
import { commandOf, type ExitCode, exitCodes, several, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { programFolder } from "./packages.ts";
import { nameOf, newerVersions, type PinResult, pin, renderLock, type Wanted } from "./pin/lock.ts";
import { readUpstream, withManifests } from "./pin/manifests.ts";
import { withNews } from "./pin/news.ts";
import { Publishers } from "./pin/publishers.ts";
import { type Versions, wanted } from "./pin/wanted.ts";
import { jsonOf, type Printed } from "./printed.ts";
import { findProject } from "./project.ts";

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

const declaration = new Declaration()
  .description(
    `Asks the publishers for the digests of components/model/artifacts.lock.json: what is recorded must be what they say, what is missing, or named by versions.json at another version, is recorded. In a repository that has Fenestra as a submodule everything goes to ${moreArtifacts} beside the stack files. With a version (${defaultRelease}) the programs of that Kubernetes release are added; the two newest releases of a minor stay. With a name before it, as in versions.json, the later patch of that program or image is taken, with what moves together with it; a submodule's row goes by itself once Fenestra has that patch. Manifests of add-ons at another version are read, and what they say otherwise is printed (${upstreamPath}). Nothing is written when something differs or failed.`,
  )
  .usage("[options] [[name] version]")
  .argument("[words...]")
  .option("--check", "write nothing")
  .option("--json", "print what became of each artifact as JSON")
  .option(
    "--sha256 <TEXT>",
    "with a name: a digest that the publisher does not give, as SHA256, OS=SHA256 or NAME:OS=SHA256",
    several,
  )
  .option("--only <TEXT>", "only artifacts whose name or version contains TEXT")
  .option("--accept-moved", "take the new image where a publisher has moved a tag")
  .option("--via <URL>", "reach each publisher as URL/<host>/<path>: a mirror in place of the internet")
  .option("--root <DIR>", "another checkout of this repository");

export const command = commandOf(declaration, run, {
  codes: { 1: "a digest differs, a publisher failed, or --check finds manifests or advisories that are not recorded" },
});

function checked(values: ReturnType<typeof declaration.opts>, positionals: readonly string[]) {
  const { sha256 = [] } = values;
  if (positionals.length > 2)
    throw new UsageError(`pin takes a version, or a name and its version, not ${positionals.join(" ")}`);
  const [name, version] = positionals.length === 2 ? positionals : [undefined, positionals[0]];
  if (name === undefined && sha256.length > 0)
    throw new UsageError("--sha256 is about one program or image; allowed: with NAME and VERSION");
  if (values.via !== undefined && !/^https?:$/.test(URL.parse(values.via)?.protocol ?? ""))
    throw new UsageError(`--via ${values.via} is not a URL; allowed: one such as https://mirror.example.com`);
  return { ...values, sha256, check: values.check ?? false, name, version: version?.replace(/^v/, "") };
}

/** Where digests are kept, and what is there. */
interface Place {
  readonly root: string;
  /** The file that is written, and its text. */
  readonly file: string;
  readonly text: string;
  /** The program's rows, and those of a repository that has it as a submodule. */
  readonly own: readonly Artifact[];
  readonly users: readonly Artifact[] | undefined;
  readonly versions: Versions;
  readonly versionsText: string;
}

const textOf = (file: string): string => (existsSync(file) ? readFileSync(file, "utf8") : "");

function readPlace(other: string | undefined): Place {
  const root = other ?? programFolder;
  const project = other === undefined ? findProject() : undefined;
  const isOwn = project?.own !== false;
  const file = isOwn ? path.join(root, lockPath) : path.join(project.stacks, moreArtifacts);
  const text = withUserFile(file, "a file", () => textOf(file));
  const versionsText = withUserFile(`--root ${root}`, "a checkout of this repository", () =>
    readFileSync(path.join(root, "versions.json"), "utf8"),
  );
  const { together, ...table } = tableSchema.parse(JSON.parse(versionsText));
  return {
    ...{ root, file, text, versionsText },
    own: readLock(root, path.join(root, lockPath)),
    users: isOwn ? undefined : text === "" ? [] : readLock(root, file),
    versions: { together, named: isOwn ? namedVersions({ ...table, together }) : [] },
  };
}

async function run(
  given: ReturnType<typeof declaration.opts>,
  { out, err, progress }: Terminal,
  words: readonly string[],
): Promise<ExitCode> {
  const options = checked(given, words);
  const place = readPlace(options.root);
  const { file, own, users, versions } = place;
  const ask = refusing(() => wanted(users === undefined ? own : { own, users }, versions, options));
  const publishers = new Publishers(options.via);
  const results = await pin(ask, publishers, options.acceptMoved ?? false, progress);
  const more = await besides(place, ask, options, publishers);
  const failed = [...failuresOf(results, ask), ...more.failed];
  const taken = (failed.length === 0 ? ask.moves : []).map(
    ({ from, to }) => `${from.name} ${from.version} -> ${to.version} (${to.os})`,
  );
  if (options.json) out(jsonOf("pin", { results: results.map(rowOf), taken, news: more.news, failed }));
  else report(results, failed, { out, err });
  const say = options.json ? () => {} : out;
  for (const line of [...taken.map((each) => `taken: ${each}`), ...more.news]) say(`${line}\n`);
  if (failed.length > 0) {
    err("fenestra: the lock file was left as it is\n");
    return exitCodes.findings;
  }
  if (options.check) return more.news.length === 0 ? exitCodes.fine : exitCodes.findings;
  const { kept, gone } = toKeep(place, results);
  for (const row of gone) say(`gone: ${nameOf(row)}: Fenestra has that patch, or a later one\n`);
  if (textOf(file) !== place.text) throw new UsageError(`${file} has changed since this run read it: run it again`);
  const texts = { ...(kept.length > 0 || existsSync(file) ? { [file]: renderLock(kept) } : {}), ...more.texts };
  for (const [name, text] of Object.entries(texts))
    withUserFile(name, "a file that is yours to write", () => writeFileSync(name, text));
  return exitCodes.fine;
}

const rowOf = ({
  artifact: { name, os, version },
  outcome,
  message,
}: PinResult): Printed<"pin">["results"][number] => ({
  ...{ name, os, version, outcome },
  ...(message === undefined ? {} : { message }),
});

interface Besides {
  /** What is said otherwise than before, line by line. */
  readonly news: readonly string[];
  readonly failed: readonly string[];
  /** Files that change, by their paths. */
  readonly texts: Readonly<Record<string, string>>;
}

/** What the program's own checkout keeps beside digests: versions, upstream's manifests, days and advisories. */
async function besides(
  { root, users, versionsText }: Place,
  { rows, moves }: Wanted,
  { name, only }: ReturnType<typeof checked>,
  publishers: Publishers,
): Promise<Besides> {
  if (users !== undefined) return { news: [], failed: [], texts: {} };
  const text = newerVersions(
    versionsText,
    moves.map(({ from, to }) => ({ name: from.name, version: from.version, newest: to.version })),
  );
  const named = namedVersions(tableSchema.parse(JSON.parse(text)), minorOf(defaultRelease)).filter(
    (each) => only === undefined || `${each.name} ${each.version}`.includes(only),
  );
  const upstream = path.join(root, upstreamPath);
  const manifests = await withManifests(readUpstream(upstream), named, publishers);
  const isWhole = name === undefined && only === undefined;
  const known = isWhole ? await withNews(text, rows, publishers) : { text, news: [], failed: [] };
  return {
    news: [...manifests.changed.map((each) => `manifest: ${each}`), ...known.news],
    failed: [...manifests.failed, ...known.failed],
    texts: {
      ...(manifests.changed.length > 0 ? { [upstream]: `${JSON.stringify(manifests.lock, null, 2)}\n` } : {}),
      ...(known.text === versionsText ? {} : { [path.join(root, "versions.json")]: known.text }),
    },
  };
}

/** Why nothing is written. */
function failuresOf(results: readonly PinResult[], { moves }: Wanted): readonly string[] {
  const taken = new Set(moves.map(({ to }) => nameOf(to)));
  return results.flatMap(({ artifact, outcome, message = "" }) =>
    outcome === "different" || outcome === "failed"
      ? message
      : outcome === "unverified" && artifact.digest === null && taken.has(nameOf(artifact))
        ? `${message}; allowed: --sha256 ${artifact.name}:${artifact.os}=SHA256`
        : [],
  );
}

function report(
  results: readonly PinResult[],
  failed: readonly string[],
  { out, err }: Pick<Terminal, "out" | "err">,
): void {
  const of = (outcome: PinResult["outcome"]) => results.filter((result) => result.outcome === outcome);
  // The first three of one reason, such as a host out of reach.
  for (const [reason, all] of Map.groupBy(failed, (each) => each.slice(each.lastIndexOf(": ") + 2))) {
    for (const each of all.slice(0, 3)) err(`✗ ${each}\n`);
    if (all.length > 3) err(`✗ ... and ${all.length - 3} more: ${reason}\n`);
  }
  if (of("failed").length > 0 && of("failed").length + of("kept").length === results.length)
    err("No publisher could be reached. Run this where there is internet, or give a mirror by --via URL.\n");
  for (const { message } of of("moved")) err(`! ${message}\n`);
  for (const { message } of of("unverified")) err(`· ${message}\n`);
  const counts = (["verified", "recorded", "moved", "different", "failed"] as const).map(
    (outcome) => `${of(outcome).length} ${outcome}`,
  );
  out(`${counts.join(", ")}, ${of("unverified").length} without a published digest\n`);
}

/** The rows of the file that is written, and a user's that the program has meanwhile. */
function toKeep({ own, users }: Place, results: readonly PinResult[]) {
  const all = results.map(({ artifact }) => artifact);
  if (users === undefined) return { kept: all, gone: [] };
  const theirs = all.filter((row) => !own.includes(row));
  const gone = placesOf(own, theirs).filter(({ replaces }) => replaces?.length === 0);
  return { kept: theirs.filter((row) => !gone.some((each) => nameOf(each) === nameOf(row))), gone };
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
