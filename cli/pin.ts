import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import { type Artifact, artifactLockFile, readArtifactLock } from "../components/model/artifacts.ts";
import { defaultRelease } from "../components/model/releases.ts";
import { type Command, type ExitCode, exitCodes, type Terminal, UsageError } from "./exit.ts";
import { Publishers } from "./pin/ask.ts";
import { namedArtifacts, renderLock, withNamed, withRelease } from "./pin/lock.ts";
import { findNewer, type Newer } from "./pin/newer.ts";
import { messages, pinLock } from "./pin/pinLock.ts";
import { takeNewer } from "./pin/take.ts";
import { withUserFile } from "./userFiles.ts";

const repository = fileURLToPath(new URL("../", import.meta.url));
const lockPath = "components/model/artifacts.lock.json";

/** Where the versions of everything in the lock file stand. */
const sourceFiles = ["components/model/releases.ts", "components/kubernetes/images.ts", "components/podNetworks/flannel/network.ts"];

const help = `Usage: fenestra pin [VERSION] [options]

Asks the publishers for the digests of everything in components/model/artifacts.lock.json: what is recorded must be what they say, what is
missing is recorded, also what a table of versions names and the file has at another version. With VERSION (${defaultRelease}) the programs of that Kubernetes release are added, for every role. The lock file is written only
when nothing differs and nothing failed.

  --check           write nothing, and say which newer patch releases the publishers have of the minors in the lock file
  --patches         take these patch releases: into the lock file, into the sources that name the older ones, and into each file of the
                    folder stacks whose version is the newest one of its minor so far
  --only TEXT       only artifacts whose name or version contains TEXT
  --accept-moved    take the new image where a publisher has moved a tag
  --via URL         reach each publisher as URL/<host>/<path>: a mirror in place of the internet
  --timeout SECONDS until an answer must be complete. Default 20
  --lock FILE       another lock file
  --root DIR        another checkout of this repository

Exit code 1 when a digest differs, a publisher failed, or --check finds a newer patch release.
`;

/** `fenestra pin`. Exit code 1 when a digest differs, a publisher failed, or a check finds a newer patch release. */
export const pinCommand: Command = {
  summary: "Fetch the publishers' checksums and rewrite the lock file of artifacts",
  help,
  run: (args, terminal) => pin(args, terminal),
};

async function pin(args: readonly string[], { out, err }: Terminal): Promise<ExitCode> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      check: { type: "boolean", default: false },
      only: { type: "string" },
      "accept-moved": { type: "boolean", default: false },
      via: { type: "string" },
      timeout: { type: "string", default: "20" },
      lock: { type: "string" },
      patches: { type: "boolean", default: false },
      root: { type: "string" },
    },
  });
  const [version, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`pin takes one version, not ${positionals.join(" ")}`);
  const { check, patches, root } = values;
  if (check && patches) throw new UsageError("--check writes nothing, and --patches writes; allowed: one of them");
  const file = values.lock ?? (root === undefined ? artifactLockFile : path.join(root, lockPath));
  const before = withUserFile(`--lock ${file}`, "a lock file in the form of components/model/artifacts.lock.json", () => readLock(file));
  const { only } = values;
  const chosen = ({ name, version: own }: Pick<Artifact, "name" | "version">) => only === undefined || `${name} ${own}`.includes(only);
  const complete = withNamed(before, namedArtifacts().filter(chosen));
  const asked = version === undefined ? complete : release(complete, version.replace(/^v/, ""));
  if (only !== undefined && !asked.some(chosen))
    throw new UsageError(`--only ${only} is in the name or version of no artifact; allowed: a part of one, such as kubelet`);
  const publishers = new Publishers({ via: urlOf(values.via), timeoutMs: secondsOf(values.timeout) * 1000 });
  const look = check || patches ? await findNewer(asked.filter(chosen), publishers) : undefined;
  const sources = patches ? readSources(root ?? repository) : new Map<string, string>();
  const { lock, texts, taken, left } = takeNewer(asked, sources, patches ? (look?.newer ?? []) : []);
  const known = new Set(before.map(({ url }) => url));
  const results = await pinLock(lock, publishers, {
    acceptMoved: values["accept-moved"],
    chosen: (artifact) => chosen(artifact) || !known.has(artifact.url),
  });
  const text = renderLock(results.map(({ artifact }) => artifact));
  const bad = results.filter(({ outcome }) => outcome === "different" || outcome === "failed");
  for (const line of messages(results)) err(`${line}\n`);
  const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length;
  out(
    `${count("verified")} verified, ${count("recorded")} recorded, ${count("moved")} moved, ${count("unverified")} without a published digest, ${count("different")} different, ${count("failed")} failed\n`,
  );
  for (const reason of look?.failed ?? []) err(`✗ ${reason}\n`);
  for (const each of look?.newer ?? []) out(`${patchLine(each, patches, left.includes(each))}\n`);
  if (look !== undefined && look.unnumbered.length > 0)
    out(`not looked for, since the version has no patch number: ${look.unnumbered.join(", ")}\n`);
  if (bad.length > 0 || (look?.failed.length ?? 0) > 0) {
    err("fenestra: the lock file was left as it is\n");
    return exitCodes.findings;
  }
  if (check) return look?.newer.length === 0 ? exitCodes.fine : exitCodes.findings;
  if (text !== renderLock(before)) writeFileSync(file, text);
  if (taken.length > 0) for (const [name, content] of texts) writeFileSync(path.join(root ?? repository, name), content);
  return exitCodes.fine;
}

/** `containerd 2.3.4 -> 2.3.5`. */
function patchLine({ name, version, newest }: Newer, patches: boolean, left: boolean): string {
  const line = `${name} ${version} -> ${newest}`;
  if (!patches) return `newer: ${line}`;
  return left ? `left: ${line}: no single place in the sources names it; change it by hand` : `taken: ${line}`;
}

/** Files that name versions, by their paths below the root. */
function readSources(root: string): ReadonlyMap<string, string> {
  const stacks = readdirSync(path.join(root, "stacks")).filter((name) => /^Pulumi\..+\.yaml$/.test(name));
  const files = [...sourceFiles, ...stacks.map((name) => `stacks/${name}`)];
  return new Map(files.map((name) => [name, readFileSync(path.join(root, name), "utf8")]));
}

function readLock(file: URL | string): readonly Artifact[] {
  try {
    return readArtifactLock(file);
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof z.ZodError)) throw error;
    throw new UsageError(
      `--lock ${file} is not a lock file of artifacts; allowed: the form of ${artifactLockFile.pathname.split("/").slice(-3).join("/")}`,
    );
  }
}

function release(lock: readonly Artifact[], version: string): readonly Artifact[] {
  try {
    return withRelease(lock, version);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}

function urlOf(text: string | undefined): string | undefined {
  if (text !== undefined && !/^https?:$/.test(URL.parse(text)?.protocol ?? ""))
    throw new UsageError(`--via ${text} is not a URL; allowed: one such as https://mirror.example.com`);
  return text;
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0)) throw new UsageError(`--timeout ${text} is not a number of seconds; allowed: one such as 20`);
  return seconds;
}
