import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { stackNames } from "../components/config/stackFile.ts";
import { UsageError } from "./exit.ts";

const root = fileURLToPath(new URL("../", import.meta.url));

/** How to check a commit out. */
export interface CheckoutOptions {
  /** Folder of the repository. Default: this one. */
  readonly repository?: string;
  /** The command line's option that names the commit, for messages. Default: `--diff`. */
  readonly option?: string;
  /**
   * Installs the packages of a checkout whose package-lock.json differs from the one here. Default: such a commit is refused, since a plan
   * asks nothing of the network.
   */
  readonly install?: (folder: string) => void;
  /** Folder of the stack files in place of `stacks`: one of the repository is read as that commit has it. */
  readonly stackDir?: string | undefined;
}

/** A commit of the repository in a temporary folder. */
export interface Checkout {
  readonly stacks: readonly string[];
  /**
   * The plan.json of a stack as that version makes it.
   *
   * @throws UsageError when it cannot
   */
  readonly plan: (stack: string) => string;
  readonly close: () => void;
}

/**
 * The plan.json of a stack as the repository's own version at a commit makes it, with the packages that are installed here.
 *
 * @throws UsageError when there is no such commit, or it needs other packages, or it has no such stack.
 */
export function planAtRef(ref: string, stack: string, options: CheckoutOptions = {}): string {
  const checkout = openCheckout(ref, options);
  try {
    return checkout.plan(stack);
  } finally {
    checkout.close();
  }
}

/**
 * Checks a commit out, in a worktree in the temporary folder. The caller closes it, also after an error.
 *
 * @throws UsageError when there is no such commit, or it needs other packages and they are not installed.
 */
export function openCheckout(ref: string, options: CheckoutOptions = {}): Checkout {
  const { repository = root, option = "--diff", install, stackDir } = options;
  const named = `${option} ${ref}`;
  const commit = commitOf(ref, option, repository);
  const same = hasSamePackages(commit, repository);
  if (!same && install === undefined)
    throw new UsageError(
      `${named}: package-lock.json differs there, and the installed packages fit only one of both; make its plan in a separate clone (npm ci, fenestra plan --json) and give that file`,
    );
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-base-"));
  const tree = path.join(folder, "tree");
  const inside = stackDir === undefined ? undefined : path.relative(repository, path.resolve(stackDir));
  const stackArgs = inside === undefined ? [] : ["--stack-dir", path.resolve(inside.startsWith("..") ? repository : tree, inside)];
  // Ctrl-C goes to the child as well; this process must live on to clean up.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  const close = () => {
    process.removeListener("SIGINT", ignore);
    rmSync(folder, { recursive: true, force: true });
    git(repository, ["worktree", "prune"]);
  };
  try {
    git(repository, ["worktree", "add", "--detach", "--quiet", tree, commit]);
    if (same) symlinkSync(path.join(repository, "node_modules"), path.join(tree, "node_modules"));
    else install?.(tree);
    const stacks = stacksIn(path.join(tree, "stacks"));
    const known = stackArgs[1] === undefined ? stacks : stacksIn(stackArgs[1]);
    return {
      stacks: stacks ?? [],
      plan: (stack) => {
        if (known?.includes(stack) === false) throw new UsageError(`${named}: that version has no stack ${stack}, so all of it is new`);
        return runPlan(tree, named, stack, stackArgs);
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function stacksIn(folder: string): readonly string[] | undefined {
  return existsSync(folder) ? stackNames(pathToFileURL(`${folder}/`)) : undefined;
}

function commitOf(ref: string, option: string, repository: string): string {
  try {
    // After --end-of-options nothing is read as an option of git.
    return git(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]).trim();
  } catch {
    const commit = "a commit, branch or tag of this repository";
    throw new UsageError(
      option === "--diff"
        ? `--diff ${ref}: there is no such file and no such commit; allowed: the plan.json of an earlier run, or ${commit}`
        : `${option} ${ref}: there is no such commit; allowed: ${commit}`,
    );
  }
}

function hasSamePackages(commit: string, repository: string): boolean {
  const lockFile = path.join(repository, "package-lock.json");
  const here = existsSync(lockFile) ? readFileSync(lockFile, "utf8") : "";
  try {
    return git(repository, ["show", `${commit}:package-lock.json`]) === here;
  } catch {
    return here === "";
  }
}

function runPlan(tree: string, named: string, stack: string, stackArgs: readonly string[]): string {
  const command = path.join(tree, "cli", "main.ts");
  if (!existsSync(command)) throw new UsageError(`${named}: that version has no fenestra plan`);
  try {
    // Findings of the base, exit code 1, are of no interest here.
    const args = [command, "plan", "--stack", stack, ...stackArgs, "--json"];
    return execFileSync(process.execPath, args, {
      cwd: tree,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    const output = (name: string) => String(error instanceof Error ? (Reflect.get(error, name) ?? "") : "");
    if (output("stdout").startsWith("{")) return output("stdout");
    // A message has a part for each problem; of an error that nobody expected the trace is left out.
    const reason = output("stderr")
      .trim()
      .replaceAll(/\n +at .*/g, "");
    throw new UsageError(`${named}: that version cannot plan ${stack}: ${reason || "no reason given"}`);
  }
}

function git(repository: string, args: readonly string[]): string {
  return execFileSync("git", ["-C", repository, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "pipe"],
  });
}
