/** How long to wait and how often to look. */
export interface Patience {
  /** Seconds between two looks. Default 5. */
  readonly everySeconds?: number;
  /** Seconds until giving up. Default 1800: a machine that was just replaced downloads, boots and catches up. */
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
 * @param probe says what is still wrong, or `undefined` when all is well. A throw counts as wrong with its message.
 * @throws Error with the last thing that was wrong, after the limit.
 */
export async function waitFor(
  what: string,
  probe: () => Promise<string | undefined>,
  { everySeconds = 5, limitSeconds = 1800 }: Patience = {},
  clock: Clock = systemClock,
): Promise<void> {
  const end = clock.now() + limitSeconds * 1000;
  for (;;) {
    const wrong = await probe().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (wrong === undefined) return;
    if (clock.now() >= end)
      throw new Error(`${what} is not ready after ${limitSeconds} seconds; last answer: ${wrong}`);
    await clock.sleep(everySeconds * 1000);
  }
}
