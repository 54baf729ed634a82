import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const root = path.join(import.meta.dirname, "../../");

interface Budget {
  readonly paths: RegExp;
  /** More is red. It goes down with each cut. */
  readonly most: number;
  /** Where it is to end: printed, not asserted. */
  readonly aim: number;
}

const others = /^(?!(components|plan|check|rehearsal|cli|docs|tests)\/)/;

const words: Readonly<Record<string, Budget>> = {
  components: { paths: /^components\//, most: 211_717, aim: 178_000 },
  plan: { paths: /^plan\//, most: 37_981, aim: 38_000 },
  check: { paths: /^check\//, most: 23_811, aim: 24_000 },
  rehearsal: { paths: /^rehearsal\//, most: 61_992, aim: 62_000 },
  cli: { paths: /^cli\//, most: 32_867, aim: 18_000 },
  "examples, ci, root": { paths: others, most: 23_081, aim: 18_000 },
  docs: { paths: /^docs\//, most: 36_299, aim: 38_000 },
  tests: { paths: /^tests\//, most: 191_711, aim: 192_000 },
  whole: { paths: /^/, most: 619_459, aim: 570_000 },
};
const files: Budget = { paths: /^/, most: 871, aim: 950 };

// What programs write does not count.
const written = /(package-lock\.json|go\.mod|\.sum|lock\.json|schema\.json)$/;

const wordsOf = (file: string) =>
  written.test(file) ? 0 : (readFileSync(path.join(root, file), "latin1").match(/[^\t-\r ]+/g)?.length ?? 0);

describe("the size of the house", () => {
  it("is within its budgets, by folder", function () {
    if (!existsSync(path.join(root, ".git"))) return this.skip();
    const listed = execFileSync("git", ["-c", "safe.directory=*", "ls-files", "-z"], {
      cwd: root,
      encoding: "utf8",
    }).split("\0");
    const sizes = listed.flatMap((file) =>
      file !== "" && existsSync(path.join(root, file)) ? [{ file, size: wordsOf(file) }] : [],
    );
    const sum = ({ paths }: Budget, of: (size: number) => number) =>
      sizes.reduce((total, { file, size }) => (paths.test(file) ? total + of(size) : total), 0);
    const rows = [
      ...Object.entries(words).map(([name, budget]) => ({ name, ...budget, now: sum(budget, (size) => size) })),
      { name: "files", ...files, now: sum(files, () => 1) },
    ];
    for (const { name, now, most, aim } of rows)
      console.log(`      ${name.padEnd(24)} ${[now, most, aim].map((n) => String(n).padStart(8)).join("")}`);
    const over = rows.filter(({ now, most }) => now > most);
    assert.deepEqual(
      over.map(({ name, now, most }) => `${name}: ${now}, at most ${most}`),
      [],
    );
  });
});
