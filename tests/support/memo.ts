/**
 * The same function, called once for arguments with the same JSON, as long as these are among the last. Tests share its
 * results, which are frozen. Calls wait for each other: runs of the program would take each other's errors.
 */
export function memo<A extends readonly unknown[], R>(make: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  const made = new Map<string, Promise<R>>();
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const key = JSON.stringify(args);
    const known = made.get(key);
    if (known !== undefined) return known;
    const run = last.then(() => make(...args)).then(frozen);
    last = run.catch(() => undefined);
    made.set(key, run);
    const [oldest] = made.keys();
    // A run holds megabytes: collecting the garbage of hundreds takes longer than the runs.
    if (made.size > 24 && oldest !== undefined) made.delete(oldest);
    return run;
  };
}

/** Freezes lists and plain objects, at any depth. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  const plain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  if (!plain) return value;
  Object.freeze(value);
  for (const each of Object.values(value)) frozen(each);
  return value;
}
