import { accessSync, closeSync, constants, existsSync, openSync } from "node:fs";
import path from "node:path";
import type { Command as Declaration, OptionValues } from "@commander-js/extra-typings";
import type { Output } from "../check/report.ts";
import { isThere } from "../components/model/files.ts";

export const exitCodes = {
  fine: 0,
  /** There are findings at the level of `--fail-on`, or failed checks. */
  findings: 1,
  /** The command line or the stack file is wrong. */
  badConfig: 2,
  /** With `--fail-on lost-data`: an update loses data, addresses or their protection. */
  lostData: 3,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

/** Value of `--fail-on` for that. */
export const lostData = "lost-data";

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The message is complete. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** What `main` writes to and asks. */
export interface Screen extends Output {
  /** Absent where nobody can answer. */
  readonly ask?: (question: string) => Promise<string>;
  /** Called before the command is loaded. */
  readonly prepare?: () => void;
  /** Columns of the terminal. Default: 80. */
  readonly width?: number | undefined;
  /** Shows on one line of standard error what is being done, `undefined` when it is over. Absent without a terminal. */
  readonly progress?: (doing: string | undefined) => void;
}

/** What a command writes to and asks. */
export interface Terminal extends Omit<Screen, "progress"> {
  /** Remarks on standard error, which `--quiet` leaves out. */
  readonly note: (text: string) => void;
  /** Says what is being done, where that may take more than five seconds; what is written next takes its place. */
  readonly progress: (doing: string) => void;
}

export interface Command {
  readonly declaration: Declaration<unknown[], OptionValues>;
  /** When the command ends with these codes. Each has 0, 2 and 130 besides. */
  readonly codes: { readonly [code in 1 | 3]?: string };
  /** What completion offers for options and arguments, by their names. */
  readonly complete: Readonly<Record<string, () => readonly string[]>>;
  /** Runs what the declaration has read. Throws UsageError or ConfigError for a user's mistake. */
  readonly run: (terminal: Terminal) => Promise<ExitCode>;
}

/** By name, each with a line on it. */
export type Commands = Readonly<
  Record<string, readonly [summary: string, load: () => Promise<{ readonly command: Command }>]>
>;

/** @param declaration commander's, or stackCommand() for `--stack`: its flags give the types of options */
export function commandOf<Args extends unknown[], Options extends OptionValues>(
  declaration: Declaration<Args, Options>,
  run: (options: Options, terminal: Terminal, ...args: Args) => Promise<ExitCode>,
  { codes = {}, complete = {} }: Partial<Pick<Command, "codes" | "complete">> = {},
): Command {
  return {
    declaration,
    codes,
    complete,
    run: async (terminal) => await run(declaration.opts(), terminal, ...declaration.processedArgs),
  };
}

/** Runs a command as a part of another. */
export async function runPart(command: Command, words: readonly string[], terminal: Terminal): Promise<ExitCode> {
  command.declaration.parse([...words], { from: "user" });
  return await command.run(terminal);
}

/** For an option that may be given several times: its values, in order. */
export const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** For an option with several values and commas between them. */
export const listed = (text: string): readonly string[] => text.split(",").flatMap((item) => item.trim() || []);

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

export const ownFolder = "a folder that is yours to write; it is made when it is not there";

/** Tried before what takes long: a folder for files, or where it is to be made. @param option `--out` */
export function requireFolder(option: string, folder: string | undefined): void {
  if (folder === "") throw new UsageError(`${option} names no folder; allowed: ${ownFolder}`);
  if (folder === undefined) return;
  withUserFile(`${option} ${folder}`, ownFolder, () => {
    let there = path.resolve(folder);
    // A link that leads nowhere is there.
    while (!isThere(there)) there = path.dirname(there);
    accessSync(`${there}/.`, constants.W_OK);
  });
}

/** Tried before what takes long, whose results would otherwise be lost. @param option `--junit` */
export function requireWritable(option: string, file: string): void {
  withUserFile(`${option} ${file}`, "a file in a folder that is there and yours to write", () => {
    accessSync(path.dirname(file), constants.W_OK);
    if (existsSync(file)) closeSync(openSync(file, "r+"));
  });
}
