/**
 * A problem that the user of the rehearsal can fix: a missing program, a kernel setting, a download with the wrong
 * checksum. It is printed without a stack trace.
 */
export class RehearsalError extends Error {
  override readonly name = "RehearsalError";
  /** What to do about it, most likely first. */
  readonly remedies: readonly string[];

  /** @param problem what is wrong, where, and the value that was found; one sentence */
  constructor(problem: string, remedies: readonly string[] = []) {
    super([problem, ...remedies.map((remedy) => `  - ${remedy}`)].join("\n"));
    this.remedies = remedies;
  }
}
