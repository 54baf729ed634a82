import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { UsageError } from "../exit.ts";
import { git } from "../gitBase.ts";
import { pinnedIn, projectIn, repositoryFiles, writeFiles } from "./files.ts";

/** Files of a user: they stay, whatever they were. */
const isUsers = (file: string): boolean => /^(stacks|ci)\/Pulumi\.[^/]+\.yaml$|^stacks\/artifacts\.lock\.json$/.test(file);
/** Files of the program that many change for themselves: they stay when they were changed. */
const mayDiffer = (file: string): boolean => isUsers(file) || /^(\.[^/]*|[^/]+\.md|Makefile|\.github\/.*|\.ci\/.*)$/.test(file);
const projects = ["Pulumi.yaml", "ci/Pulumi.yaml"];

/**
 * Turns a clone with stack files into a repository that has the program as a submodule, at the commit that the clone was made from. Project
 * name, state and everything that trusts the repository stay. Nothing is committed.
 *
 * @param url where the program comes from
 * @returns what was done, a line each
 * @throws UsageError when something of the clone is not committed, or the program was edited
 */
export function fromClone(root: string, url: string, program: string, repository: string | undefined): readonly string[] {
  const lines = (...args: readonly string[]) =>
    git(root, args)
      .split("\n")
      .filter((line) => line !== "");
  if (lines("status", "--porcelain").length > 0)
    throw new UsageError("--from-clone: something is not committed; allowed: a clone whose files git status says nothing of");
  if (existsSync(path.join(root, program))) throw new UsageError(`--from-clone: ${program} is there already; allowed: a clone of Fenestra`);
  git(root, ["fetch", "--quiet", url, "HEAD"]);
  const used = git(root, ["merge-base", "HEAD", "FETCH_HEAD"]).trim();
  const theirs = new Set(lines("ls-tree", "-r", "--name-only", used));
  const changed = new Set(lines("diff", "--name-only", used, "HEAD"));
  const edited = [...changed].filter((file) => theirs.has(file) && !mayDiffer(file) && !projects.includes(file));
  if (edited.length > 0)
    throw new UsageError(
      `--from-clone: the program itself was edited: ${edited.slice(0, 5).join(", ")}${edited.length > 5 ? ` and ${edited.length - 5} more` : ""}; allowed: a clone whose changes are in stack files. Push yours to a fork and give its address`,
    );
  const kept = (file: string): boolean => projects.includes(file) || !theirs.has(file) || changed.has(file);
  const gone = lines("ls-files").filter((file) => !kept(file));
  git(root, ["rm", "-r", "--quiet", "--", ...gone]);
  git(root, ["submodule", "--quiet", "add", url, program]);
  const folder = path.join(root, program);
  git(folder, ["checkout", "--quiet", "--detach", used]);
  const packages = path.join(root, "node_modules");
  if (existsSync(packages)) renameSync(packages, path.join(folder, "node_modules"));
  for (const file of projects) writeFileSync(path.join(root, file), projectIn(readFileSync(path.join(root, file), "utf8"), program));
  const files = Object.entries(repositoryFiles(program, folder, pinnedIn(folder, repository)));
  const made = writeFiles(root, Object.fromEntries(files.filter(([name]) => !isUsers(name))));
  git(root, ["add", "--all"]);
  return [`${gone.length} files of the program are gone; ${program} has them, at ${used}`, ...made];
}
