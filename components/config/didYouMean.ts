import { closestMatch } from "leven";

/** Most letters that may differ for a name to count as mistyped; with more we would suggest what nobody meant. */
const mostSlips = 2;

/** "did you mean count?" for a name that is nearly an allowed one; `undefined` when none is near, or the name is too short to tell. */
export function didYouMean(name: string, allowed: readonly string[]): string | undefined {
  const maxDistance = Math.min(mostSlips, Math.floor(name.length / 2));
  const near = maxDistance === 0 ? undefined : closestMatch(name, allowed, { maxDistance });
  return near === undefined ? undefined : `did you mean ${near}?`;
}
