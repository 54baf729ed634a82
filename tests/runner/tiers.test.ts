import assert from "node:assert/strict";
import { globSync } from "node:fs";
import path from "node:path";
import { nightOf, nightTitles, tiers } from "./tiers.ts";

const root = path.join(import.meta.dirname, "../..");

describe("the tiers of tests", () => {
  it("have steps that can each be chosen alone by title", () => {
    for (const tier of Object.values(tiers)) {
      const titles = tier().flatMap((row) => row.map(({ title }) => title));
      for (const title of titles)
        assert.deepEqual(
          titles.filter((other) => other.includes(title)),
          [title],
        );
    }
  });

  it("hold every test file by its name", () => {
    const odd = globSync("tests/**/*.test.ts", { cwd: root }).filter(
      (file) => !/^[^.]+(?:\.slow|\.night)?\.test\.ts$/.test(file),
    );
    assert.deepEqual(odd, []);
  });

  it("give a pull request the steps of its folders", () => {
    for (const [folder, parts] of Object.entries(nightOf)) {
      assert.ok(globSync(folder, { cwd: root }).length > 0, folder);
      const chosen = nightTitles([`${folder}x.ts`]);
      for (const part of parts)
        assert.ok(
          chosen.some((title) => title.includes(part)),
          part,
        );
    }
    assert.deepEqual(nightTitles(["docs/aws.md", "tests/rehearsal/x.ts"]), []);
  });
});
