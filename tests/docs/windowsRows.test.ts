import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, root), "utf8");

describe("the table of what Windows does differently", () => {
  it("has a row for each exception that checks and samples make, and names none that they do not", () => {
    const files = ["check/**/*.ts", "components/kubernetes/samples/*.yaml"];
    const made = globSync(files, { cwd: root })
      .flatMap((file) => [...textOf(file).matchAll(/Windows row: ([a-z-]+)/g)])
      .map(([, id = ""]) => id);
    const [, table = ""] = textOf("docs/windows-applications.md").split("## What Windows does differently");
    const named = [...(table.split("\n## ")[0] ?? "").matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, id = ""]) => id);
    assert.deepEqual(named.toSorted(), [...new Set(made)].toSorted());
    assert.ok(named.length > 0);
  });
});
