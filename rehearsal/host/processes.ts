import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { poll } from "../../components/gates/poll.ts";
import { messageOf } from "../../components/model/messages.ts";
import { type CommandResult, exitCodeOf, killGroup, runCommand } from "./command.ts";
import { machinePath } from "./rootScripts.ts";

interface MachineNamespaces {
  /** A process in the machine's namespaces. */
  readonly pid: number;
}

interface StartOptions {
  /** File of the harness's that output and errors are appended to. */
  readonly logFile: string;
  /** Added to PATH, HOME and LANG, all that a program in a machine inherits. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A program in a machine. It is not started again when it ends. */
export interface MachineProcess {
  /** The exit code as of a shell, once the program has ended. */
  readonly exited: Promise<number>;
  exitCode(): number | undefined;
  /**
   * Sends SIGTERM, after `graceMs` SIGKILL, to the program or the `whole` of its process group. @returns the exit code
   */
  stop(graceMs: number, whole?: boolean): Promise<number>;
  /** Sends SIGKILL, as when the power fails. @returns the exit code */
  kill(): Promise<number>;
}

export interface RunOptions {
  readonly stdin?: string;
  /** Default: 60,000. */
  readonly timeoutMs?: number;
}

/** Root of a machine may not touch what is in no namespace: kernel modules, clocks, raw devices, the host's power. */
const withheld = "-sys_module,-sys_boot,-sys_time,-sys_rawio,-syslog";

function inMachine(machine: MachineNamespaces, argv: readonly string[]): readonly string[] {
  const enter = ["nsenter", "--net", "--mount", "--uts", "--target", String(machine.pid)];
  return [...enter, "setpriv", "--bounding-set", withheld, "--", ...argv];
}

export function machineEnvironment(added: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return { PATH: machinePath, HOME: "/root", LANG: "C.UTF-8", GOGC: "400", ...added };
}

/** A person's shell in a machine. */
export function shellIn(machine: MachineNamespaces): readonly string[] {
  const variables = Object.entries(machineEnvironment()).map(([name, value]) => `${name}=${value}`);
  return inMachine(machine, ["env", "--ignore-environment", "TERM=xterm", ...variables, "bash", "--norc", "-i"]);
}

/**
 * Runs a program in a machine to its end. A nonzero exit code is a result, not an error.
 * @throws Error when the time is up
 */
export function runInMachine(
  machine: MachineNamespaces,
  argv: readonly string[],
  options: RunOptions = {},
): Promise<CommandResult> {
  return runCommand(inMachine(machine, argv), { ...options, env: machineEnvironment() });
}

/**
 * Starts a program in a machine. nsenter and setpriv replace themselves by it, so the pid is its own.
 * @throws Error when the program cannot be started; one that is not found ends with exit code 127
 */
export async function startInMachine(
  machine: MachineNamespaces,
  argv: readonly string[],
  options: StartOptions,
): Promise<MachineProcess> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, "a");
  const [file = "", ...args] = inMachine(machine, argv);
  // A process group of its own: Ctrl-C only reaches the harness, which ends things in order.
  const child = spawn(file, args, {
    env: machineEnvironment(options.env),
    detached: true,
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  await once(child, "spawn");
  let ended: number | undefined;
  const exited = once(child, "exit").then(([code, signal]) => {
    ended = exitCodeOf(code, signal);
    return ended;
  });
  return {
    exited,
    exitCode: () => ended,
    async stop(graceMs, whole = false) {
      const send = (signal: NodeJS.Signals) => (whole ? killGroup(child.pid, signal) : child.kill(signal));
      send("SIGTERM");
      const timer = setTimeout(send, graceMs, "SIGKILL");
      const code = await exited;
      clearTimeout(timer);
      return code;
    },
    kill() {
      child.kill("SIGKILL");
      return exited;
    },
  };
}

/**
 * Waits until `condition` gives something that is neither `undefined` nor `false`, and returns it. One that throws is
 * tried again.
 * @param what completes "waited 30 s for ..."
 * @param intervalMs pause between two attempts
 * @throws Error with `what` and the last problem
 */
export async function waitFor<T>(
  what: string,
  limitMs: number,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  intervalMs = 500,
): Promise<T> {
  const startedAt = performance.now();
  const attempt = async (): Promise<T> => {
    const value = await condition();
    if (value !== undefined && value !== false) return value;
    throw new Error("the condition is not met");
  };
  return await poll(attempt, { limitMs, intervalMs }).catch((error: unknown) => {
    const waited = ((performance.now() - startedAt) / 1000).toFixed(1);
    throw new Error(`waited ${waited} s for ${what}; last problem: ${messageOf(error)}`);
  });
}

/** The last lines of a log file under a heading, for error messages. */
export async function logTail(logFile: string): Promise<string> {
  const tail = (await readFile(logFile, "utf8").catch(() => "")).trimEnd().split("\n").slice(-15);
  return [`last lines of ${logFile}:`, ...tail.map((line) => `  ${line.slice(0, 500)}`)].join("\n");
}
