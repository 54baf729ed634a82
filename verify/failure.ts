/** What a check found wrong, and where to look next. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  /** Command or place that tells more. */
  readonly lookAt: string | undefined;

  constructor(message: string, lookAt?: string) {
    super(message);
    this.lookAt = lookAt;
  }
}

/** A check found while it ran that it cannot be answered on this cluster. */
export class CheckSkipped extends Error {
  override readonly name = "CheckSkipped";
}

/** Throws unless it holds. */
export function expect(holds: boolean, failure: string, lookAt?: string): asserts holds {
  if (!holds) throw new CheckFailure(failure, lookAt);
}
