const dayMs = 86_400_000;

/** From so many days before its end an authority is warned of: time enough to plan its replacement, which touches every machine. */
const warningDays = 90;

/**
 * Warning about an authority that expires soon; `undefined` before that.
 *
 * @param name as people know it: `kubernetes`
 * @param end last moment of its validity, RFC 3339, as the tls provider gives it
 * @param now milliseconds since the epoch
 */
export function expiryWarning(name: string, end: string, now: number): string | undefined {
  const days = Math.floor((Date.parse(end) - now) / dayMs);
  if (Number.isNaN(days) || days >= warningDays) return undefined;
  const when = days < 0 ? `has run out on ${end}` : `runs out on ${end}, in ${days} days`;
  return `The certificate authority ${name} ${when}; it is not renewed automatically. docs/operations.md says how to replace it.`;
}
