import assert from "node:assert/strict";
import { globSync } from "node:fs";
import path from "node:path";
import { nightOf, nightTitles } from "./tiers.ts";

const root = path.join(import.meta.dirname, "../..");

describe("the tiers of tests", () => {
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
