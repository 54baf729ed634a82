import { z } from "zod";

export const levels = ["error", "warning", "note"] as const;

/** The machines will not work or are open, someone should look, someone should know. */
export type Level = (typeof levels)[number];

export const findingSchema = z
  .strictObject({
    id: z.string().describe("Stable name of the rule: single-nat-gateway."),
    level: z
      .enum(levels)
      .describe("error: will not work or is open; warning: someone should look; note: someone should know."),
    path: z.string().describe("Where: a path in the stack file, or the name of a resource or machine."),
    message: z.string().describe("What is so, one sentence."),
    remedy: z.string().describe("How to fix it, one sentence."),
    acknowledged: z
      .string()
      .nullable()
      .default(null)
      .describe("Why the stack file accepts it (acknowledge); null when it does not."),
  })
  .readonly();

export type Finding = z.output<typeof findingSchema>;

/** One finding of several places. */
interface FindingGroup extends Omit<Finding, "path"> {
  readonly paths: readonly string[];
}

/** Items of the same key together, after the first of them, in the order of the first of each. */
export function grouped<T>(
  items: Iterable<T>,
  key: (item: T) => string,
): readonly (readonly [first: T, all: readonly T[]])[] {
  return [...Map.groupBy(items, key).values()].flatMap((all) => all.slice(0, 1).map((first) => [first, all] as const));
}

/** Findings that say the same together. */
export function groupFindings(findings: readonly Finding[]): readonly FindingGroup[] {
  const groups = grouped(findings, ({ id, level, message, remedy }) => [id, level, message, remedy].join("\n"));
  return groups.map(([{ path: _, ...rest }, all]) => ({ ...rest, paths: all.map(({ path }) => path) }));
}

const mostPlaces = 4;

/** `a, b, c, d and 8 more`. */
export function placesOf({ paths }: FindingGroup): string {
  const shown = paths.slice(0, mostPlaces).join(", ");
  return paths.length <= mostPlaces ? shown : `${shown} and ${paths.length - mostPlaces} more`;
}
