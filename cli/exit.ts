import type { Output } from "../checks/report.ts";

export const exitCodes = {
  fine: 0,
  /** Findings at the level of `--fail-on`, or a rehearsal with failed checks. */
  findings: 1,
  /** The command line or the stack file is wrong. */
  badConfig: 2,
  /** With `--fail-on lost-data`: nothing is wrong, but an update loses data, addresses or their protection. */
  lostData: 3,
} as const;

/** Value of `--fail-on` for that. */
export const lostData = "lost-data";

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** A mistake in the command line. The message is complete. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

export interface Terminal extends Output {
  /** Asks a person; absent where none can answer, as in a pipeline. */
  readonly ask?: (question: string) => Promise<string>;
  /** Prepares the process before its one command is loaded. */
  readonly prepare?: () => void;
}

export interface Command {
  /** Text of `fenestra <command> --help`. */
  readonly help: string;
  /** Runs with the arguments after the command's name. Throws UsageError or ConfigError for a user's mistake. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<ExitCode>;
}

/**
 * Uses a file or folder of the command line.
 *
 * @param named the option with its value, for the message: `--out out`.
 * @param allowed what the user may give there.
 * @throws UsageError when the system refuses it: no such file, a folder in its place, no right to it.
 */
export function withUserFile<T>(named: string, allowed: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UsageError(`${named}: ${error.message}; allowed: ${allowed}`);
  }
}
