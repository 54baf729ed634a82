import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Command as Declaration } from "@commander-js/extra-typings";
import { moreArtifacts } from "../components/config/stackFile.ts";
import { readArtifactLock } from "../components/model/artifacts.ts";
import { defaultRelease } from "../components/model/releases.ts";
import { commandOf, type ExitCode, exitCodes, type Terminal, UsageError, withUserFile } from "./exit.ts";
import { programFolder } from "./packages.ts";
import { type Lock, nameOf, type Pinned, pin, versionsSchema } from "./pin/lock.ts";
import { httpPublishers } from "./pin/publishers.ts";
import { jsonOf, type Printed } from "./printed.ts";
import { findProject } from "./project.ts";

const lockPath = "components/model/artifacts.lock.json";
const versionsPath = "versions.json";

const declaration = new Declaration()
  .description(
    `Asks the publishers for the digests of components/model/artifacts.lock.json: what is recorded must be what they say, what is missing, or named by versions.json at another version, is recorded. In a repository that has Fenestra as a submodule everything goes to ${moreArtifacts} beside the stack files. With a version (${defaultRelease}) the programs of that Kubernetes release are added; the two newest releases of a minor stay. With a name before it, as in versions.json, the later patch of that program or image is taken, with what moves together with it; a submodule's row goes by itself once Fenestra has that patch. Nothing is written when something differs or failed.`,
  )
  .usage("[options] [[name] version]")
  .argument("[words...]")
  .option("--check", "write nothing")
  .option("--json", "print what became of each artifact as JSON")
  .option("--via <URL>", "reach each publisher as URL/<host>/<path>: a mirror in place of the internet")
  .option("--root <DIR>", "another checkout of this repository");

export const command = commandOf(declaration, run, { codes: { 1: "a digest differs, or a publisher failed" } });

/** One of three: all that there is, a release, a component. */
function requested(words: readonly string[]) {
  if (words.length > 2) throw new UsageError(`pin takes a version, or a name and its version, not ${words.join(" ")}`);
  const [release, name] = words.toReversed();
  const version = release?.replace(/^v/, "");
  if (version !== undefined && name !== undefined) return { component: { name, version } };
  return { release: version };
}

/** Where what is recorded, and what there is. */
interface Place {
  readonly lock: Lock;
  /** All of `versions.json`. */
  readonly table: object;
  /** What is written there. */
  readonly files: Readonly<Record<string, (pinned: Pick<Pinned, "lock" | "versions">) => object>>;
}

function readPlace(other: string | undefined): Place {
  const root = other ?? programFolder;
  const project = other === undefined ? findProject() : undefined;
  const at = (name: string) => path.join(root, name);
  const [table, rows] = withUserFile(`--root ${root}`, "a checkout of this repository", () => {
    const read: object = JSON.parse(readFileSync(at(versionsPath), "utf8"));
    return [read, readArtifactLock(at(lockPath))] as const;
  });
  if (project?.own === false) {
    const file = path.join(project.stacks, moreArtifacts);
    const users = existsSync(file) ? withUserFile(file, "a file", () => readArtifactLock(file)) : [];
    return { table, lock: { rows, users }, files: { [file]: ({ lock }) => lock.users ?? [] } };
  }
  const files: Place["files"] = {
    [at(lockPath)]: ({ lock }) => lock.rows,
    [at(versionsPath)]: ({ versions }) => ({ ...table, ...versions }),
  };
  return { table, lock: { rows }, files };
}

async function run(
  given: ReturnType<typeof declaration.opts>,
  terminal: Terminal,
  words: readonly string[],
): Promise<ExitCode> {
  const { check, json, via, root } = given;
  if (via !== undefined && !/^https?:$/.test(URL.parse(via)?.protocol ?? ""))
    throw new UsageError(`--via ${via} is not a URL; allowed: one such as https://mirror.example.com`);
  const request = requested(words);
  const { lock, table, files } = readPlace(root);
  const before = { lock, versions: versionsSchema.parse(table) };
  const pinned = await pin(lock, { ...request, ...before }, httpPublishers(via), terminal.progress);
  if (json) terminal.out(jsonOf("pin", printedOf(pinned)));
  else report(pinned, terminal);
  if (pinned.failed.length > 0) {
    terminal.err("fenestra: the lock file was left as it was\n");
    return exitCodes.findings;
  }
  if (check) return exitCodes.fine;
  const changed = Object.entries(files).filter(([, content]) => !isDeepStrictEqual(content(before), content(pinned)));
  for (const [file, content] of changed)
    if (existsSync(file) && !isDeepStrictEqual(content(before), JSON.parse(readFileSync(file, "utf8"))))
      throw new UsageError(`${file} has changed since this run read it: run it again`);
  for (const [file, content] of changed)
    withUserFile(file, "a file that is yours to write", () => writeFileSync(file, rendered(content(pinned))));
  return exitCodes.fine;
}

/** As they are written. */
export const rendered = (content: object): string => `${JSON.stringify(content, null, 2)}\n`;

const printedOf = ({ results, taken, failed }: Pinned): Printed<"pin"> => ({
  results: results.map(({ artifact: { name, os, version }, ...rest }) => ({ name, os, version, ...rest })),
  ...{ taken: taken.map(nameOf), failed },
});

function report({ results, taken, gone, failed }: Pinned, { out, err }: Terminal): void {
  const of = (outcome: string) => results.filter((result) => result.outcome === outcome);
  // The first three of one reason, such as a host out of reach.
  for (const [reason, all] of Map.groupBy(failed, (each) => each.slice(each.lastIndexOf(": ") + 2))) {
    for (const each of all.slice(0, 3)) err(`✗ ${each}\n`);
    if (all.length > 3) err(`✗ ... and ${all.length - 3} more: ${reason}\n`);
  }
  if (of("failed").length > 0 && of("failed").length + of("kept").length === results.length)
    err("No publisher could be reached. Run this where there is internet, or give a mirror by --via URL.\n");
  for (const { message } of of("unverified")) err(`· ${message}\n`);
  const counts = ["verified", "recorded", "different", "failed"].map((each) => `${of(each).length} ${each}`);
  out(`${counts.join(", ")}, ${of("unverified").length} without a published digest\n`);
  for (const row of taken) out(`taken: ${nameOf(row)}\n`);
  for (const row of gone) out(`gone: ${nameOf(row)}: Fenestra has that patch, or a later one\n`);
}
