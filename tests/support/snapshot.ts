import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/**
 * Compares `text` with the stored snapshot at `file` (an absolute path; extension of the reader's choice, so that the file opens with
 * syntax colours in a review). `UPDATE_SNAPSHOTS=1` writes it; a snapshot that does not exist yet fails in CI and is written elsewhere.
 */
export function matchSnapshot(file: string, text: string): void {
  const missing = !existsSync(file);
  if (process.env.UPDATE_SNAPSHOTS === "1" || (missing && process.env.CI !== "true")) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return;
  }
  assert.ok(!missing, `snapshot ${path.basename(file)} is missing; run with UPDATE_SNAPSHOTS=1 and commit it`);
  assert.equal(text, readFileSync(file, "utf8"), `${path.basename(file)} differs; UPDATE_SNAPSHOTS=1 rewrites it`);
}
