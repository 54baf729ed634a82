import { UserDataError } from "../plan/decode/userData.ts";
import { ProgramError, ShapeError } from "../plan/program/runProgram.ts";
import { type Command, exitCodes } from "./exit.ts";

/** What a plan ends with where the program, a payload or the user's transforms are broken. Their messages are complete. */
export const programErrors = [ProgramError, ShapeError, UserDataError] as const;

/** Runs a command that makes plans, and tells of such errors without a trace: they are the worst of findings. */
export const tellingProgramErrors =
  (run: Command["run"]): Command["run"] =>
  async (args, terminal) => {
    try {
      return await run(args, terminal);
    } catch (error) {
      if (!(error instanceof Error) || !programErrors.some((kind) => error instanceof kind)) throw error;
      terminal.err(`fenestra: ${error.message}\n`);
      return exitCodes.findings;
    }
  };
