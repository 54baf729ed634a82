import { spawn } from "node:child_process";
import { constants as fileConstants } from "node:fs";
import { access, realpath, stat } from "node:fs/promises";
import { constants } from "node:os";
import { isAbsolute, join } from "node:path";
import { paintFor, timed } from "../../check/report.ts";

export interface CommandResult {
  /** Exit code; 128 plus the signal's number when a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  /** Written to standard input, which is then closed. Default: empty. */
  readonly stdin?: string;
  /** The whole environment. Default: this process's, with {@link hostPath}. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Milliseconds until the program and its process group are killed and the call fails. Default: 60,000. */
  readonly timeoutMs?: number;
}

/** PATH for host tools: Debian keeps `ip` and `pivot_root` in /usr/sbin, which is not on an ordinary user's. */
export function hostPath(): string {
  return [process.env.PATH ?? "", "/usr/sbin", "/sbin", "/usr/bin", "/bin"].filter((entry) => entry !== "").join(":");
}

/** The first executable file of that name on PATH, without its relative entries. */
export async function findOnPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(":").filter(isAbsolute)) {
    const candidate = join(folder, name);
    try {
      await access(candidate, fileConstants.X_OK);
      if ((await stat(candidate)).isFile()) return await realpath(candidate);
    } catch {
      // Not here.
    }
  }
  return undefined;
}

/**
 * Node's pipes are sockets, which bash takes for a connection of rshd, so that it reads ~/.bashrc unless it is not the
 * outermost shell (bash(1), INVOCATION).
 */
export const withoutBashrc: Readonly<Record<string, string>> = { SHLVL: "1" };

export function exitCodeOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/**
 * Runs a program to its end. A nonzero exit code is a result, not an error.
 * @throws Error when the program cannot be started or the time is up
 */
export function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [file = "", ...args] = argv;
  const timeoutMs = options.timeoutMs ?? 60_000;
  return new Promise((resolve, reject) => {
    // A process group of its own: the time limit reaches what a script left in the background, and Ctrl-C only the
    // harness, which ends things in order.
    const child = spawn(file, args, {
      env: { ...(options.env ?? { ...process.env, PATH: hostPath() }), ...withoutBashrc },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      killGroup(child.pid, "SIGKILL");
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeoutMs);
    child.stdin.on("error", () => undefined); // A program that does not read its input closes the pipe: no problem.
    child.stdin.end(options.stdin ?? "");
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (timedOut)
        reject(new Error(`${argv.join(" ")}: not finished after ${timeoutMs / 1000} s${tailOf(output.stderr)}`));
      else resolve({ code: exitCodeOf(code, signal), ...output });
    });
  });
}

/**
 * Runs a program that must succeed, and returns its standard output.
 * @throws Error with the program's error output when the exit code is not 0
 */
export async function runOrFail(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
  const result = await runCommand(argv, options);
  if (result.code === 0) return result.stdout;
  throw new Error(`${argv.join(" ").slice(0, 300)}: exit code ${result.code}${tailOf(result.stderr || result.stdout)}`);
}

/** Sends a signal to a process group that may have gone already. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Gone already.
  }
}

function tailOf(text: string): string {
  const lines = text.trimEnd().split("\n").slice(-10).join("\n");
  return lines === "" ? "" : `:\n${lines}`;
}

/**
 * A problem that the user of the rehearsal can fix: a missing program, a kernel setting, a download with the wrong
 * checksum. It is printed without a stack trace.
 */
export class RehearsalError extends Error {
  override readonly name = "RehearsalError";

  /**
   * @param problem what is wrong, where, and the value that was found; one sentence
   * @param remedies what to do about it, most likely first
   */
  constructor(problem: string, remedies: readonly string[] = []) {
    super([problem, ...remedies.map((remedy) => `  - ${remedy}`)].join("\n"));
  }
}

/**
 * Longest waits of a rehearsal, in milliseconds, far above what a busy host needs. What cannot come any more is not
 * waited for: a refusal, a program that has ended, or a stage that fails each time ends the wait.
 */
export const limitsMs = {
  /** A check without a limit of its own. */
  check: 120_000,
  /**
   * A check of several waits, whose own limits end it sooner and with a better reason, or with programs still to be
   * built.
   */
  steps: 2_700_000,
  /** A machine on its way to its Node, to Ready, to a healthy member of etcd, or out of its group. */
  machine: 600_000,
  /** A program that waits itself: etcd-restore.sh gives the control plane 185 s to stop. */
  program: 300_000,
  /** What a healthy control plane does at once. One that has lost a machine may be away for half as long. */
  answer: 60_000,
  /** A change, tried again, of an object that controllers write to as well. */
  change: 120_000,
} as const;

/** Writes lines with the time since the start. */
export interface Progress {
  /** Start of the clock, in milliseconds since the epoch. */
  readonly startedAt: number;
  /** Writes `[ 12.3 s] text`, with further lines of `text` indented below. */
  line(text: string): void;
}

/**
 * Progress lines, whose time is dimmed on a terminal.
 * @param stream Default: standard error; standard output is for results.
 * @param startedAt start of the clock; a process that continues another one's work gets its start. Default: now.
 */
export function createProgress(stream: NodeJS.WriteStream = process.stderr, startedAt = Date.now()): Progress {
  const paint = paintFor(stream);
  return { startedAt, line: (text) => void stream.write(timed(text, Date.now() - startedAt, paint)) };
}
