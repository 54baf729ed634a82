import { RehearsalError } from "../host/errors.ts";

/**
 * Whether what a machine lacks is an error where tests and checks are skipped otherwise: where everything can be
 * installed a skip would be missed.
 */
export function isStrict(): boolean {
  return process.env.STRICT === "1";
}

/** Programs can neither be found nor downloaded, and there is no Go that would build them. */
export class GoMissing extends RehearsalError {}

/**
 * Obtains programs, or says why they cannot be had on this machine. A build or a download that fails is an error as
 * before.
 */
export async function obtainOrReason<T>(
  obtain: () => Promise<T>,
): Promise<{ readonly programs: T } | { readonly reason: string }> {
  try {
    return { programs: await obtain() };
  } catch (error) {
    if (error instanceof GoMissing) return { reason: error.message };
    throw error;
  }
}
