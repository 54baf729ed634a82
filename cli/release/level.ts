import type { StackChange } from "../changes/stackChange.ts";

/** What a release is, by what it does to the example stacks. */
const levels = ["patch", "minor", "major"] as const;

/** One of `levels`. */
export type ReleaseLevel = (typeof levels)[number];

/**
 * Patch: every machine stays and nothing is replaced or taken away. Major: a stack file that was planned before is refused, or data, an
 * address, a name or a pool goes for good. Minor: all between, such as machines that are replaced one by one with their data.
 */
export function levelOf(changes: readonly StackChange[]): ReleaseLevel {
  const levelsOf = changes.map(({ status, overview }): ReleaseLevel => {
    if (status === "failed" || status === "unknown") return "major";
    if (status !== "changed" || overview === null) return "patch";
    const { controlPlane, pools, refused, lost, replaced, removed } = overview;
    const fates = (of: typeof pools) => of.map(({ fate }) => fate);
    if (refused + lost > 0 || fates(controlPlane).some(goes) || fates(pools).some((fate) => goes(fate) || isNew(fate))) return "major";
    return replaced + removed > 0 || fates([...controlPlane, ...pools]).some((fate) => fate !== "stays") ? "minor" : "patch";
  });
  return levels.findLast((level) => levelsOf.includes(level)) ?? "patch";
}

type Fate = NonNullable<StackChange["overview"]>["pools"][number]["fate"];
const goes = (fate: Fate): boolean => fate === "removed" || fate === "refused";
/** A pool that is made anew drains at once, where one that rolls goes machine by machine. */
const isNew = (fate: Fate): boolean => fate === "replaced" || fate === "may-be-replaced";

/** The lowest number that a release may have. Before 1.0.0 a minor may do what a major does. */
export function lowestVersion(previous: string, level: ReleaseLevel): string {
  const [major = 0, minor = 0, patch = 0] = previous.replace(/^v/, "").split(".").map(Number);
  if (level === "patch") return [major, minor, patch + 1].join(".");
  return level === "minor" || major === 0 ? [major, minor + 1, 0].join(".") : [major + 1, 0, 0].join(".");
}
