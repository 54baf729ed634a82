/** One changed line of a file: added or removed. */
export interface LineChange {
  readonly kind: "+" | "-";
  /** Number of the line, in the new file for `+` and in the old one for `-`. */
  readonly line: number;
  readonly text: string;
}

/** The fewest added and removed lines that lead from one text to the other, by the longest common subsequence. */
export function diffLines(old: string, now: string): readonly LineChange[] {
  const [a, b] = [old.split("\n"), now.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      lengths[i * width + j] = left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const changes: LineChange[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length; ) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      i++;
      j++;
    } else if (i < left.length && (j === right.length || at(i + 1, j) >= at(i, j + 1))) {
      changes.push({ kind: "-", line: start + i + 1, text: left[i] ?? "" });
      i++;
    } else {
      changes.push({ kind: "+", line: start + j + 1, text: right[j] ?? "" });
      j++;
    }
  }
  return changes;
}
