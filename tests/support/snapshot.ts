import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { structuredPatch } from "diff";

/**
 * Compares `text` with the snapshot at `file` (an absolute path; the extension gives syntax colours in a review).
 * `UPDATE_SNAPSHOTS=1` writes it; a missing snapshot fails in CI and is written elsewhere.
 */
export function matchSnapshot(file: string, text: string) {
  const missing = !existsSync(file);
  if (process.env.UPDATE_SNAPSHOTS === "1" || (missing && process.env.CI !== "true")) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  assert.ok(!missing, `snapshot ${path.basename(file)} is missing; run with UPDATE_SNAPSHOTS=1 and commit it`);
  const stored = readFileSync(file, "utf8");
  if (text !== stored) assert.fail(differenceOf(path.basename(file), stored, text));
}

/** The first lines in which a text differs from the stored one. */
function differenceOf(name: string, stored: string, text: string) {
  const [hunk, ...others] = structuredPatch("", "", stored, text, "", "", { context: 0 }).hunks;
  if (hunk === undefined) return `${name} differs`;
  const lines = hunk.lines.length > 20 ? [...hunk.lines.slice(0, 20), "..."] : hunk.lines;
  const more = others.length === 0 ? "" : ` and in ${others.length} more places`;
  return [`${name} differs at line ${hunk.oldStart}${more}; UPDATE_SNAPSHOTS=1 rewrites it`, ...lines].join("\n");
}

/** A long line as lines of at most 118 characters, later ones indented. */
export function wrapped(line: string): readonly string[] {
  return (line.match(/.{1,116}(?= |$)/g) ?? []).map((part) => part.replace(/^ /, "  "));
}

/**
 * Compares the answer to each item of a YAML list with the comments `#> ...` below it. `UPDATE_SNAPSHOTS=1` writes
 * them.
 */
export function matchAnswers(file: string, answers: readonly (readonly string[])[]) {
  const [head = "", ...items] = readFileSync(file, "utf8")
    .replaceAll(/^#>.*\n/gm, "")
    .split(/^(?=- )/m);
  assert.equal(answers.length, items.length);
  const answered = items.map((item, index) =>
    item.replace(/^- .*\n(?: .*\n)*/, (asked) =>
      [asked, ...(answers[index] ?? []).map((line) => `#> ${line}\n`)].join(""),
    ),
  );
  matchSnapshot(file, head + answered.join(""));
}
