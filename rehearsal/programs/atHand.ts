import { RehearsalError } from "../host/errors.ts";

/** Whether lacking programs are an error instead of a skip, which would be missed where everything can be installed. */
export function isStrict(): boolean {
  return process.env.STRICT === "1";
}

/** Programs that can be neither found nor downloaded, and no Go to build them. */
export class GoMissing extends RehearsalError {}

/** Obtains programs, or says why there is no Go for them. Other failures stay errors. */
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
