import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { readProjectFile, stackNames } from "../components/config/stackFile.ts";
import { UsageError } from "./exit.ts";
import { packagesOf, programFolder } from "./packages.ts";
import { findProject, isInside } from "./project.ts";

export interface CheckoutOptions {
  /** Default: the project's. */
  readonly repository?: string;
  /** Folder of a program with installed packages. Default: this one's. */
  readonly program?: string;
  /** The option that names the commit, for messages. Default: `--diff`. */
  readonly option?: string;
  /**
   * Installs the packages of a checkout where package-lock.json differs. Default: the commit is refused, since a plan
   * needs no network.
   */
  readonly install?: (folder: string, run: Run) => Promise<void>;
  /** Folder of the stack files in place of the project's; one in the repository is read as that commit has it. */
  readonly stackDir?: string | undefined;
}

export interface Checkout {
  /** Folder of its program. */
  readonly program: string;
  readonly stacks: readonly string[];
  /** @throws UsageError without a plan */
  readonly plan: (stack: string) => Promise<string>;
  readonly close: () => void;
}

/**
 * The plan.json of a stack at a commit, with the packages installed here. @throws UsageError without such a commit or
 * stack, or for other packages.
 */
export async function planAtRef(ref: string, stack: string, options: CheckoutOptions = {}): Promise<string> {
  const { plan, close } = await openCheckout(ref, options);
  return await plan(stack).finally(close);
}

/**
 * Checks a commit out in a temporary worktree, with the program that it pins as a submodule. The caller closes it.
 *
 * @throws UsageError without such a commit, or when it needs other packages and they are not installed.
 */
export async function openCheckout(ref: string, options: CheckoutOptions = {}): Promise<Checkout> {
  const { repository = findProject().root, program = programFolder, option = "--diff", install, stackDir } = options;
  const named = `${option} ${ref}`;
  const commit = commitOf(ref, option, repository);
  const top = realpathSync(git(repository, ["rev-parse", "--show-toplevel"]).trimEnd());
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "fenestra-base-")));
  const tree = path.join(folder, "tree");
  const cleaner = startCleaner(folder, [repository, program]);
  const close = () => {
    rmSync(folder, { recursive: true, force: true });
    for (const each of new Set([repository, program])) git(each, ["worktree", "prune"]);
    cleaner.stdin.end("closed\n");
  };
  const run: Run = (file, args, options) => {
    const started = executed(file, args, { ...options, encoding: "utf8", maxBuffer: 2 ** 28 });
    cleaner.stdin.write(`${started.child.pid}\n`);
    return started.finally(() => cleaner.stdin.write("\n"));
  };
  try {
    await run("git", ["-C", repository, "worktree", "add", "--detach", "--quiet", tree, commit]);
    const project = path.join(tree, path.relative(top, realpathSync(repository)));
    // A program alone has no project file.
    const then = readProjectFile(project) ?? { program: project, stacks: path.join(project, "stacks") };
    if (!isInside(tree, then.program))
      throw new UsageError(
        `${named}: main in its Pulumi.yaml is ${then.program}, outside of the repository, which has no versions of it; allowed: a path within, relative to Pulumi.yaml`,
      );
    if (!existsSync(path.join(then.program, "package-lock.json")))
      addPinned(tree, then.program, commit, named, { repository, program });
    const inside = stackDir === undefined ? then.stacks : path.resolve(stackDir);
    const folderOfStacks = isInside(top, inside) ? path.join(tree, path.relative(top, inside)) : inside;
    const stackArgs = folderOfStacks === path.join(then.program, "stacks") ? [] : ["--stack-dir", folderOfStacks];
    if (hasSamePackages(then.program, program))
      symlinkSync(path.join(program, "node_modules"), path.join(then.program, "node_modules"));
    else if (install !== undefined) await install(then.program, run);
    else
      throw new UsageError(
        `${named}: package-lock.json differs there, and the installed packages fit only one of both; make its plan in a separate clone (npm ci, fenestra plan --json) and give that file`,
      );
    const known = existsSync(folderOfStacks) ? stackNames(pathToFileURL(`${folderOfStacks}/`)) : undefined;
    return {
      program: then.program,
      stacks: known ?? [],
      plan: async (stack) => {
        if (known?.includes(stack) === false)
          throw new UsageError(`${named}: that version has no stack ${stack}, so all of it is new`);
        return await runPlan(then.program, project, named, [stack, ...stackArgs], run);
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** The program that a commit pins as a submodule; fetched if needed, as in a shallow clone. */
function addPinned(
  tree: string,
  folder: string,
  commit: string,
  named: string,
  { repository, program }: { readonly repository: string; readonly program: string },
) {
  const inTree = path.relative(tree, folder);
  const [, type, id = ""] = git(tree, ["ls-tree", commit, "--", inTree]).split(/[ \t]/);
  if (type !== "commit") throw new UsageError(`${named}: ${inTree} is no program and no submodule there`);
  const works = (...args: readonly string[]) => spawnSync("git", ["-C", program, ...args]).status === 0;
  if (!works("cat-file", "-e", `${id}^{commit}`) && !works("fetch", "--quiet", "--depth", "1", "origin", id)) {
    const retry = `git -C ${path.relative(repository, program)} fetch origin ${id}`;
    throw new UsageError(`${named}: it pins the version ${id}, which is not here and could not be fetched: ${retry}`);
  }
  git(program, ["worktree", "add", "--detach", "--quiet", folder, id]);
}

function commitOf(ref: string, option: string, repository: string): string {
  try {
    // After --end-of-options git reads no options.
    return git(repository, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]).trim();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const isShallow = git(repository, ["rev-parse", "--is-shallow-repository"]).trim() === "true";
    const commit = `a commit, branch or tag of this repository${isShallow ? "; this clone is shallow: git fetch --unshallow" : ""}`;
    throw new UsageError(
      option === "--diff"
        ? `--diff ${ref}: there is no such file and no such commit; allowed: the plan.json of an earlier run, or ${commit}`
        : `${option} ${ref}: there is no such commit; allowed: ${commit}`,
    );
  }
}

function hasSamePackages(one: string, other: string): boolean {
  const [a, b] = [one, other].map((folder) => {
    const file = path.join(folder, "package-lock.json");
    return existsSync(file) ? JSON.stringify(packagesOf(file)) : "";
  });
  return a === b;
}

async function runPlan(
  program: string,
  project: string,
  named: string,
  [stack = "", ...stackArgs]: readonly string[],
  run: Run,
): Promise<string> {
  const command = path.join(program, "cli", "main.ts");
  if (!existsSync(command)) throw new UsageError(`${named}: that version has no fenestra plan`);
  try {
    // Findings of the base, exit code 1, do not matter.
    const args = [command, "plan", "--stack", stack, ...stackArgs, "--json"];
    // There it finds the releases that the project adds.
    return (await run(process.execPath, args, { cwd: project })).stdout;
  } catch (error) {
    const output = (name: string) => String(Reflect.get(Object(error), name) ?? "");
    if (output("stdout").startsWith("{")) return output("stdout");
    // A part for each problem; of an unexpected error not the trace.
    const reason = output("stderr")
      .trim()
      .replaceAll(/\n +at .*/g, "");
    throw new UsageError(`${named}: that version cannot plan ${stack}: ${reason || "no reason given"}`);
  }
}

const executed = promisify(execFile);

type Run = (
  file: string,
  args: readonly string[],
  options?: { readonly cwd?: string },
) => Promise<{ readonly stdout: string }>;

/**
 * A process that outlives this one and removes the checkout, however this one ends: a plan keeps the event loop busy for
 * seconds, and no handler of Ctrl-C would be called. It reads the id of the program that runs and is to end, or none.
 * It removes twice: what it ends may still have written.
 */
function startCleaner(folder: string, repositories: readonly string[]) {
  const script = `while read -r line; do running=$line; done
    [ "$running" = closed ] && exit
    [ -z "$running" ] || kill "$running"
    rm -rf -- "$0"; rm -rf -- "$0"
    for each in "$@"; do git -C "$each" worktree prune; done`;
  const cleaner = spawn("sh", ["-c", script, folder, ...repositories], {
    // Away from the terminal's Ctrl-C.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  cleaner.stdin.on("error", () => undefined);
  cleaner.unref();
  return cleaner;
}

/** @throws UsageError without git, or with its reason where it refuses */
export function git(repository: string, args: readonly string[]): string {
  try {
    return execFileSync("git", ["-C", repository, ...args], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new UsageError("git is not there: install it, and put it on PATH");
    // Such as a folder that is no clone, or is somebody else's.
    const [, said] = /^fatal: (.*)$/s.exec(String(Reflect.get(Object(error), "stderr")).trim()) ?? [];
    if (said === undefined) throw error;
    const need = said.startsWith("not a git repository") ? "; needed: a clone, or git init and a commit" : "";
    throw new UsageError(`git in ${repository}: ${said}${need}`);
  }
}

export async function npmCi(folder: string, run: Run = executed): Promise<void> {
  await run("npm", ["ci", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder });
}
