/** How long to wait and how often to look. */
export interface Patience {
  /** Seconds between two looks. Default 5. */
  readonly everySeconds?: number;
  /**
   * Seconds until giving up, counted from the start or from the last sign of progress. Default 1800: a machine that was just replaced
   * downloads, boots and catches up.
   */
  readonly limitSeconds?: number;
}

/** Time, as the wait sees it; a test gives its own. */
export interface Clock {
  /** Milliseconds since any fixed point. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/**
 * Looks until the probe finds nothing wrong.
 *
 * @param what what is awaited, for the error: `the API of aws-dev`.
 * @param probe says what is still wrong, or `undefined` when all is well. A throw counts as wrong with its message. It calls what it is
 * given when it sees progress: the limit then counts anew.
 * @throws Error with the last thing that was wrong, after the limit.
 */
export async function waitFor(
  what: string,
  probe: (progress: () => void) => Promise<string | undefined>,
  { everySeconds = 5, limitSeconds = 1800 }: Patience = {},
  clock: Clock = systemClock,
): Promise<void> {
  let since = clock.now();
  const progress = (): void => {
    since = clock.now();
  };
  for (;;) {
    const wrong = await probe(progress).catch((error: unknown) =>
      error instanceof Error ? error.message : String(error),
    );
    if (wrong === undefined) return;
    if (clock.now() >= since + limitSeconds * 1000)
      throw new Error(`${what} is not ready after ${limitSeconds} seconds; last answer: ${wrong}`);
    await clock.sleep(everySeconds * 1000);
  }
}
