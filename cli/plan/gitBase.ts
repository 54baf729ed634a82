import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { UsageError } from "../exit.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * The plan.json of a stack as the repository's own version at a commit makes it, with the packages that are installed here. It is made in a
 * worktree in the temporary folder, which is removed again whatever happens.
 *
 * @param repository Folder of the repository. Default: this one.
 * @throws UsageError when there is no such commit, or it wants other packages, or it has no such stack.
 */
export function planAtRef(ref: string, stack: string, repository: string = root): string {
  const commit = commitOf(ref, repository);
  requireSamePackages(ref, commit, repository);
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-base-"));
  const tree = path.join(folder, "tree");
  // Ctrl-C goes to the child as well; this process must live on to clean up.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  try {
    git(repository, ["worktree", "add", "--detach", "--quiet", tree, commit]);
    symlinkSync(path.join(repository, "node_modules"), path.join(tree, "node_modules"));
    return runPlan(tree, ref, stack);
  } finally {
    process.removeListener("SIGINT", ignore);
    rmSync(folder, { recursive: true, force: true });
    git(repository, ["worktree", "prune"]);
  }
}

function commitOf(ref: string, repository: string): string {
  try {
    // After --end-of-options nothing is taken for an option of git.
    return git(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]).trim();
  } catch {
    throw new UsageError(
      `--diff ${ref}: there is no such file and no such commit; allowed: the plan.json of an earlier run, or a commit, branch or tag of this repository`,
    );
  }
}

function requireSamePackages(ref: string, commit: string, repository: string): void {
  const lockFile = path.join(repository, "package-lock.json");
  const here = existsSync(lockFile) ? readFileSync(lockFile, "utf8") : "";
  let there: string;
  try {
    there = git(repository, ["show", `${commit}:package-lock.json`]);
  } catch {
    there = "";
  }
  if (here !== there)
    throw new UsageError(
      `--diff ${ref}: package-lock.json differs there, and the installed packages fit only one of both; make its plan in a clone of its own (npm ci, fenestra plan --json) and give that file`,
    );
}

function runPlan(tree: string, ref: string, stack: string): string {
  const command = path.join(tree, "cli", "main.ts");
  if (!existsSync(command)) throw new UsageError(`--diff ${ref}: that version has no fenestra plan`);
  try {
    // Findings of the base, exit code 1, are of no interest here.
    const args = [command, "plan", "--stack", stack, "--json"];
    return execFileSync(process.execPath, args, {
      cwd: tree,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    const output = (name: string) => String(error instanceof Error ? (Reflect.get(error, name) ?? "") : "");
    if (output("stdout").startsWith("{")) return output("stdout");
    const [line = "no reason given"] = output("stderr").trim().split("\n");
    throw new UsageError(`--diff ${ref}: that version cannot plan ${stack}: ${line}`);
  }
}

function git(repository: string, args: readonly string[]): string {
  return execFileSync("git", ["-C", repository, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
}
