import type { Output } from "../check/report.ts";

export const exitCodes = {
  fine: 0,
  /** There are findings at the level of `--fail-on`, or failed checks. */
  findings: 1,
  /** The command line or the stack file is wrong. */
  badConfig: 2,
  /** With `--fail-on lost-data`: an update loses data, addresses or their protection. */
  lostData: 3,
} as const;

/** Value of `--fail-on` for that. */
export const lostData = "lost-data";

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The message is complete. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

export interface Terminal extends Output {
  /** Absent where nobody can answer. */
  readonly ask?: (question: string) => Promise<string>;
  /** Called before the command is loaded. */
  readonly prepare?: () => void;
}

export interface Command {
  /** Text of `--help`. */
  readonly help: string;
  /** Throws UsageError or ConfigError for a user's mistake. */
  readonly run: (args: readonly string[], terminal: Terminal) => Promise<ExitCode>;
}

/**
 * Uses a file or folder of the command line.
 *
 * @param named for the message: `--out out`. @param allowed what the user may give there.
 * @throws UsageError when the system refuses it
 */
export function withUserFile<T>(named: string, allowed: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new UsageError(`${named}: ${error.message}; allowed: ${allowed}`);
  }
}
