import { closestMatch } from "leven";

/** Most letters that may differ for a name to count as mistyped; beyond that suggestions are noise. */
const mostSlips = 2;

/** "did you mean count?" for a name close to an allowed one; `undefined` when none is close or the name is too short to judge. */
export function didYouMean(name: string, allowed: readonly string[]): string | undefined {
  const maxDistance = Math.min(mostSlips, Math.floor(name.length / 2));
  const near = maxDistance === 0 ? undefined : closestMatch(name, allowed, { maxDistance });
  return near === undefined ? undefined : `did you mean ${near}?`;
}
