import { UserDataError } from "../plan/decode/userData.ts";
import { ProgramError, ShapeError } from "../plan/program/runProgram.ts";
import { type ExitCode, exitCodes, type Terminal } from "./exit.ts";

/** What a plan ends with where the program, a payload or the user's transforms are broken. Their messages are complete. */
export const programErrors = [ProgramError, ShapeError, UserDataError] as const;

/** Runs a command that makes plans, and tells of such errors without a trace: they are the worst of findings. */
export const tellingProgramErrors =
  <Options>(run: (options: Options, terminal: Terminal) => Promise<ExitCode>) =>
  async (options: Options, terminal: Terminal): Promise<ExitCode> => {
    try {
      return await run(options, terminal);
    } catch (error) {
      if (!(error instanceof Error) || !programErrors.some((kind) => error instanceof kind)) throw error;
      terminal.err(`fenestra: ${error.message}\n`);
      return exitCodes.findings;
    }
  };
