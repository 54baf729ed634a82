import { UsageError } from "./exit.ts";

/**
 * Does something with a file or a folder that the command line names.
 *
 * @param named the option with its value, for the message: `--out out`.
 * @param allowed what the user may give there.
 * @throws UsageError when the system refuses it: no such file, a folder in its place, no right to it.
 */
export function withUserFile<T>(named: string, allowed: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UsageError(`${named}: ${error.message}; allowed: ${allowed}`);
  }
}

function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}
