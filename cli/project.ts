import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { readProjectFile, transformsFile, transformsVariable } from "../components/config/projectFile.ts";
import { readStackFile, stackNames } from "../components/config/stackFile.ts";
import { UsageError, withUserFile } from "./exit.ts";

/** A clone, or `fenestra` in a user's repository. */
export const programFolder = realpathSync(fileURLToPath(new URL("../", import.meta.url)));

/** Started by Pulumi. */
export const programEntry = path.join(programFolder, "index.ts");

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

type Package = { readonly version?: unknown } & { readonly [flag in "optional" | "devOptional" | "peer"]?: boolean };

/** A lock file's packages by folder, without the program's own version, which each release changes. */
export function packagesOf(lock: string): Readonly<Record<string, Package>> {
  const { packages: { "": own, ...others } = {} }: { packages?: Record<string, Package> } = JSON.parse(lock);
  return { ...others, "": { ...own, version: undefined } };
}

/**
 * Refuses packages of another version of the program, whose errors would not say so. @throws UsageError with the
 * command that repairs the packages
 */
export function requirePackages(): void {
  const where = path.relative(process.cwd(), programFolder) || ".";
  if (!isCurrent(programFolder))
    throw new UsageError(`the packages in ${where} are those of another version: run npm ci --prefix ${where}`);
}

/** What npm has not put there is not judged. */
export function isCurrent(folder: string): boolean {
  const installed = path.join(folder, "node_modules/.package-lock.json");
  if (!existsSync(installed)) return existsSync(path.dirname(installed));
  const wanted = packagesOf(readFileSync(path.join(folder, "package-lock.json"), "utf8"));
  const { "": _, ...there } = packagesOf(readFileSync(installed, "utf8"));
  return (
    Object.entries(there).every(([name, { version }]) => version === wanted[name]?.version) &&
    Object.entries(wanted).every(
      ([name, { optional, devOptional, peer }]) => there[name] ?? (name === "" || optional || devOptional || peer),
    )
  );
}

/** Options of every command about one stack, for `parseArgs`. */
export const stackOptions = { stack: { type: "string" }, "stack-dir": { type: "string" } } as const;

/** Of help, from the same column. */
export function stackHelp(width: number): string {
  return [
    ["--stack NAME", "the stack: NAME of stacks/Pulumi.NAME.yaml"],
    ["--stack-dir DIR", "folder with the stack file, in place of stacks"],
  ]
    .map(([option = "", meaning]) => `  ${option.padEnd(width)}${meaning}`)
    .join("\n");
}

/** Lets the program take the transforms beside these stack files. */
export function useTransforms(folder: URL): void {
  process.env[transformsVariable] = fileURLToPath(new URL(transformsFile, folder));
}

export interface Stack {
  readonly stack: string;
  readonly config: Readonly<Record<string, string>>;
}

/**
 * @param needs for the message when no stack is named: `plan needs --stack NAME`
 * @throws UsageError when no stack is named or the folder cannot be read
 * @throws ConfigError when the folder has no such stack, or its file is no stack file
 */
export function readStack(
  needs: string,
  { stack, "stack-dir": dir }: { readonly stack?: string | undefined; readonly "stack-dir"?: string | undefined },
): Stack {
  const folder = dir === undefined ? stacksOf(findProject()) : pathToFileURL(`${path.resolve(dir)}/`);
  const names = withUserFile(`--stack-dir ${dir}`, "a folder with files Pulumi.<stack>.yaml", () => stackNames(folder));
  if (stack === undefined) throw new UsageError(`${needs}; allowed: ${names.join(", ")}`);
  useTransforms(folder);
  return { stack, config: readStackFile(stack, folder) };
}
