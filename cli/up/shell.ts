import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Interrupted } from "./steps.ts";

/** What Ctrl-C ends. The first ends what is running in its own way, the second at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** Hands each Ctrl-C on to a process that must end in its own way. */
  readonly follow: (child: ChildProcess) => void;
  readonly release: () => void;
}

/** @param tell what is said at the first one */
export function untilInterrupted(tell: () => void): Interrupt {
  const controller = new AbortController();
  const children = new Set<ChildProcess>();
  const interrupt = (): void => {
    if (!controller.signal.aborted) tell();
    controller.abort();
    for (const child of children) child.kill("SIGINT");
  };
  const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];
  for (const signal of signals) process.on(signal, interrupt);
  return {
    signal: controller.signal,
    follow: (child) => {
      children.add(child);
      child.once("close", () => children.delete(child));
    },
    release: () => {
      for (const signal of signals) process.off(signal, interrupt);
    },
  };
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly onOutput?: ((text: string) => void) | undefined;
  readonly onError?: ((text: string) => void) | undefined;
  readonly started?: (child: ChildProcess) => void;
}

/** Runs a program to its end, in a session of its own: a terminal's Ctrl-C reaches it only as it is handed on. */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { cwd, env, onOutput, onError, started } = options;
  const child = spawn(program, [...args], {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
  });
  started?.(child);
  const texts = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    texts.stdout += text;
    onOutput?.(text);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    texts.stderr += text;
    onError?.(text);
  });
  const [code] = await once(child, "close");
  return { code: typeof code === "number" ? code : -1, ...texts };
}

/**
 * Runs a line that was printed. It is short, so Ctrl-C waits for it: nothing is left half made.
 *
 * @returns what it printed @throws Error with its last words
 */
export async function runLine(line: string, signal: AbortSignal): Promise<string> {
  if (signal.aborted) throw new Interrupted();
  const { code, stdout, stderr } = await run("bash", ["-euo", "pipefail", "-c", line]);
  if (code === 0) return stdout.trim();
  throw new Error(`${line}\nends with ${code}: ${stderr.trim() || stdout.trim()}`);
}
