import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Command as Declaration } from "@commander-js/extra-typings";
import { loadConfig } from "../components/config/load.ts";
import {
  hasPassphrase,
  readProjectFile,
  readStackFile,
  stackNames,
  transformsFile,
  transformsVariable,
} from "../components/config/stackFile.ts";
import { type Terminal, UsageError, withUserFile } from "./exit.ts";
import { programFolder } from "./packages.ts";

export interface Project {
  /** Folder of Pulumi.yaml. */
  readonly root: string;
  /** Folder of the stack files. */
  readonly stacks: string;
  /** The program's own folder. */
  readonly own: boolean;
}

/**
 * The nearest Pulumi.yaml whose `main` is this program, above the working folder or else the program.
 *
 * @throws UsageError where the program is a submodule and no project names it: its own stack files are examples there
 */
export function findProject(): Project {
  const found = projectOrNone();
  if (found === undefined)
    throw new UsageError(
      `no Pulumi.yaml above ${process.cwd()} has this program as its main; allowed: a folder of a repository that has one. fenestra init --repository makes it`,
    );
  return found;
}

/** As {@link findProject}, or none. */
export function projectOrNone(): Project | undefined {
  const from = realpathSync(process.cwd());
  const found = above(from) ?? above(path.dirname(programFolder)) ?? above(programFolder);
  return found?.own && isSubmodule() && !isInside(programFolder, from) ? undefined : found;
}

/** Told where answers may be taken for another repository's or version's. */
export function projectNotes({ root, own }: Project): readonly string[] {
  const outer = own ? above(path.dirname(programFolder)) : undefined;
  if (outer !== undefined)
    return [`these are the stack files of ${programFolder} itself; for those of ${outer.root} run it there`];
  if (own || !isSubmodule()) return [];
  const where = path.relative(root, programFolder);
  const ask = (...args: readonly string[]) =>
    execFileSync("git", ["-C", ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [, pinned] = ask(root, "ls-files", "--stage", "--", where).split(" ");
  const there = ask(programFolder, "rev-parse", "HEAD").trim();
  if (pinned === undefined || pinned === there) return [];
  // Before the first commit, a checked out release is behind what was added.
  const cures = [`git submodule update ${where}`, `git add ${where} to pin what is there`];
  const isNew = spawnSync("git", ["-C", root, "rev-parse", "--verify", `HEAD:${where}`]).status !== 0;
  const [first, second] = isNew ? cures.toReversed() : cures;
  return [`${where} is at ${there}, and the repository pins ${pinned}: ${first}, or ${second}`];
}

function above(start: string): Project | undefined {
  for (let folder = start; ; folder = path.dirname(folder)) {
    const file = readProjectFile(folder);
    if (file?.program === programFolder) return { root: folder, stacks: file.stacks, own: folder === programFolder };
    if (folder === path.dirname(folder)) return undefined;
  }
}

/** URL of the stack files' folder, with a final slash. */
export function stacksOf({ stacks }: Pick<Project, "stacks">): URL {
  return pathToFileURL(`${stacks}/`);
}

/** Whether a path is in a folder, or the folder itself. */
export function isInside(folder: string, inner: string): boolean {
  const relative = path.relative(folder, inner);
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

/** Whether the program is a submodule; a worktree has a file `.git`, too. */
function isSubmodule(): boolean {
  const file = path.join(programFolder, ".git");
  return existsSync(file) && statSync(file).isFile() && readFileSync(file, "utf8").includes("/modules/");
}

/** Names the stack of a command. */
export const stackOption = [
  "--stack <NAME>",
  "the stack: NAME of stacks/Pulumi.NAME.yaml; not needed where there is only one",
] as const;

/** The options of a command about one stack. */
export function stackCommand() {
  return new Declaration()
    .option(...stackOption)
    .option("--stack-dir <DIR>", "folder with the stack file, in place of stacks");
}

/** Lets the program take the transforms beside these stack files. */
export function useTransforms(folder: URL): void {
  process.env[transformsVariable] = fileURLToPath(new URL(transformsFile, folder));
}

export interface Stack {
  readonly stack: string;
  readonly config: Readonly<Record<string, string>>;
  /** Whether its secrets hang on a passphrase. */
  readonly passphrase: boolean;
}

/** What stackCommand reads. */
export interface StackOptions {
  readonly stack?: string | undefined;
  readonly stackDir?: string | undefined;
}

/** Names of the stacks that `--stack` may be, for completion. */
export const stackChoices = () => namesIn(stacksOf(findProject()));

/** Names of the stacks with a file in a folder. @throws UsageError when it cannot be read */
export const namesIn = (folder: URL): readonly string[] =>
  withUserFile(`stack files in ${fileURLToPath(folder)}`, "a folder with files Pulumi.<stack>.yaml", () =>
    stackNames(folder),
  );

/**
 * The stack that is named, or the only one there is.
 *
 * @param command for the message when none is: `plan`
 * @throws UsageError when no stack is named or the folder cannot be read
 * @throws ConfigError when the folder has no such stack, or its file is no stack file
 */
export function readStack(command: string, { stack, stackDir }: StackOptions, { note }: Pick<Terminal, "note">): Stack {
  const folder = stackDir === undefined ? stacksOf(findProject()) : pathToFileURL(`${path.resolve(stackDir)}/`);
  const names = stackDir === undefined && !existsSync(folder) ? [] : namesIn(folder);
  if (names.length === 0)
    throw new UsageError(
      `${command} needs a stack, and ${fileURLToPath(folder)} has none yet: fenestra init --stack NAME writes one`,
    );
  const name = stack ?? (names.length === 1 ? names[0] : undefined);
  if (name === undefined) throw new UsageError(`${command} needs --stack NAME; allowed: ${names.join(", ")}`);
  if (stack === undefined) note(`stack: ${name}, the only one\n`);
  useTransforms(folder);
  return { stack: name, config: readStackFile(name, folder, loadConfig), passphrase: hasPassphrase(name, folder) };
}
