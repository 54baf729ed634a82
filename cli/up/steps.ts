import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Readable } from "node:stream";
import { atInterrupt } from "../../check/interrupt.ts";
import { messageOf } from "../../components/model/messages.ts";
import { programFolder } from "../packages.ts";

/** A part of what a command does, which can be taken up again. */
export interface Step {
  /** Stable name: `preview`. */
  readonly id: string;
  readonly title: string;
  /** Lines for a shell that do the same by hand. */
  readonly byHand: readonly string[];
  /** Default: it is never done already. */
  readonly isDone?: () => Promise<boolean>;
  /** @returns what to tell beside its being done, if it is a text. @throws what it stops at */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

export interface StepRecord {
  readonly id: string;
  readonly outcome: "done" | "done already" | "failed" | "interrupted";
  readonly seconds: number;
  /** Why it failed. */
  readonly reason?: string | undefined;
}

interface StepTools {
  readonly out: (text: string) => void;
  readonly signal: AbortSignal;
  readonly record: (entry: StepRecord) => void;
}

/** The plan of the whole thing is that a person says no, which is no failure. */
export class Declined extends Error {
  override readonly name = "Declined";
}

/** A step has failed. The message is complete. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
}

/**
 * Runs steps in their order, each after its commands are printed, and leaves out what is done already.
 *
 * @throws StepFailed with the reason of the first that fails; the signal's; Declined
 */
export async function runSteps(steps: readonly Step[], { out, signal, record }: StepTools): Promise<void> {
  for (const [index, { id, title, byHand, isDone, run }] of steps.entries()) {
    signal.throwIfAborted();
    out(`\n[${index + 1}/${steps.length}] ${title}\n${byHand.map((line) => `  $ ${line}\n`).join("")}`);
    const since = performance.now();
    const end = (outcome: StepRecord["outcome"], reason?: string): void =>
      record({ id, outcome, seconds: Math.round((performance.now() - since) / 1000), reason });
    try {
      const done = (await isDone?.()) === true;
      const said = done ? "done already" : await run(signal);
      if (typeof said === "string") out(`  ${said}\n`);
      end(done ? "done already" : "done");
    } catch (error) {
      if (error instanceof Declined) throw error;
      if (signal.aborted) end("interrupted");
      signal.throwIfAborted();
      end("failed", messageOf(error));
      throw new StepFailed(`${title}: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** A word for a shell, in quotes where it needs them. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A line to type that runs a command of this program. */
export const byFenestra = (...words: readonly string[]): string =>
  [path.join(path.relative(process.cwd(), programFolder) || ".", "cli/fenestra"), ...words].map(quoted).join(" ");

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
  return {
    signal: controller.signal,
    follow: (child) => {
      children.add(child);
      child.once("close", () => children.delete(child));
    },
    release: atInterrupt(controller.signal, interrupt),
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
    cwd,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  started?.(child);
  const [stdout, stderr] = [linesOf(child.stdout, onOutput), linesOf(child.stderr, onError)];
  const [code] = await once(child, "close");
  return { code: typeof code === "number" ? code : -1, stdout: stdout(), stderr: stderr() };
}

/** Hands on whole lines: half a command to a pipeline looks like none. @returns what has come until now */
function linesOf(stream: Readable, handOn: (text: string) => void = () => {}): () => string {
  let [text, told] = ["", 0];
  const tell = (end: number): void => {
    if (end > told) handOn(text.slice(told, end));
    told = Math.max(told, end);
  };
  stream.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    tell(text.lastIndexOf("\n") + 1);
  });
  stream.on("end", () => tell(text.length));
  return () => text;
}

/**
 * Runs a line that was printed. It is short, so Ctrl-C waits for it: nothing is left half made.
 *
 * @returns what it printed @throws Error with its last words
 */
export async function runLine(line: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const { code, stdout, stderr } = await run("bash", ["-euo", "pipefail", "-c", line]);
  if (code === 0) return stdout.trim();
  throw new Error(`${line}\nends with ${code}: ${stderr.trim() || stdout.trim()}`);
}
