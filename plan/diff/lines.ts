import { diffArrays } from "diff";

/** One changed line of a file: added or removed. */
export interface LineChange {
  readonly kind: "+" | "-";
  /** Number of the line, in the new file for `+` and in the old one for `-`. */
  readonly line: number;
  readonly text: string;
}

/** The fewest added and removed lines that lead from one text to the other. */
export function diffLines(old: string, now: string): readonly LineChange[] {
  const next = { "-": 1, "+": 1 };
  return diffArrays(old.split("\n"), now.split("\n")).flatMap(({ added, removed, value }): LineChange[] => {
    const kind = added ? "+" : removed ? "-" : undefined;
    if (kind !== undefined) return value.map((text) => ({ kind, line: next[kind]++, text }));
    next["-"] += value.length;
    next["+"] += value.length;
    return [];
  });
}
