/** Within which an interrupt is that of the reader, in milliseconds. */
const sameKeyMs = 2_000;

/**
 * Calls an action at each interrupt. A terminal that is gone, as each line says that cannot be written, is the first one
 * alone, and so is a key that ends the reader of the lines too.
 *
 * @returns what ends that
 */
export function atInterrupt(signal: AbortSignal, act: () => void): () => void {
  let gone = Number.NEGATIVE_INFINITY;
  const press = (): void => {
    if (performance.now() > gone + sameKeyMs) act();
  };
  const hangUp = (): void => {
    if (signal.aborted) return;
    gone = performance.now();
    act();
  };
  const listeners = Object.entries({ SIGINT: press, SIGTERM: press, SIGHUP: hangUp });
  for (const [name, listener] of listeners) process.on(name, listener);
  return () => {
    for (const [name, listener] of listeners) process.off(name, listener);
  };
}
