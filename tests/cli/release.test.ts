import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { bareChange, type NodeFate, type Overview, type StackChange } from "../../cli/changes/stackChange.ts";
import { levelOf, lowestVersion, releaseNotes, requireVersion, sectionOf } from "../../cli/release/notes.ts";
import project from "../../package.json" with { type: "json" };

const nothing = { added: 0, removed: 0, changed: 0, replaced: 0, refused: 0, lost: 0, newFindings: 0, goneFindings: 0 };
function changed(
  over: Partial<Overview> = {},
  controlPlane: NodeFate = "stays",
  pool: NodeFate = "stays",
): StackChange {
  const nodes = { controlPlane: [{ name: "cp-0", fate: controlPlane }], pools: [{ name: "linux", fate: pool }] };
  return { ...bareChange("s", "changed"), overview: { ...nothing, ...nodes, ...over } };
}

describe("the number of a release", () => {
  for (const [what, change, level] of [
    ["no change", bareChange("s", "same"), "patch"],
    ["another example", bareChange("s", "added"), "patch"],
    ["objects in place and new ones", changed({ changed: 3, added: 1 }), "patch"],
    ["new findings", changed({ newFindings: 2 }), "patch"],
    ["an object that goes", changed({ removed: 1 }), "minor"],
    ["a replacement without data", changed({ replaced: 1 }), "minor"],
    ["control-plane machines with their disks", changed({ replaced: 3 }, "replaced"), "minor"],
    ["a pool that rolls", changed({ changed: 1 }, "stays", "rolled"), "minor"],
    ["a pool that is made anew", changed({}, "stays", "replaced"), "major"],
    ["a pool that goes", changed({}, "stays", "removed"), "major"],
    ["lost data or an address", changed({ lost: 1 }), "major"],
    ["a change that the guard refuses", changed({ refused: 1 }), "major"],
    ["a stack file that is refused", bareChange("s", "failed"), "major"],
    ["a stack that nobody could compare", bareChange("s", "unknown"), "major"],
  ] as const)
    it(`is at least a ${level} for ${what}`, () => {
      assert.equal(levelOf([bareChange("t", "same"), change, bareChange("u", "same")]), level);
    });

  it("is that level's lowest, before 1.0.0 a minor for a major", () => {
    const of = (previous: string) =>
      (["patch", "minor", "major"] as const).map((level) => lowestVersion(previous, level));
    assert.deepEqual(of("v0.2.3"), ["0.2.4", "0.3.0", "0.3.0"]);
    assert.deepEqual(of("v1.2.3"), ["1.2.4", "1.3.0", "2.0.0"]);
    const rolls = [changed({}, "stays", "rolled")];
    assert.throws(
      () => requireVersion("1.2.4", "v1.2.3", rolls),
      /after v1\.2\.3 this is a minor release: at least 1\.3\.0, not 1\.2\.4/,
    );
    for (const version of ["1.3.0", "1.10.0", "2.0.0"]) requireVersion(version, "v1.2.3", rolls);
  });
});

describe("the notes of a release", () => {
  it("have this version's section, the table, and what came and went", () => {
    const section = sectionOf(readFileSync(new URL("../../CHANGES.md", import.meta.url), "utf8"), project.version);
    assert.ok(section.length > 200);
    assert.throws(() => sectionOf("# Changes\n\n## 1.0.0\n", "1.0.1"), /has no section 1\.0\.1/);
    const before = { kubernetes: ["1.35.0", "1.36.0"], needs: ["Node >=22"], rights: "a" };
    const notes = releaseNotes("text", [changed({}, "replaced")], before, {
      kubernetes: ["1.36.0", "1.37.0"],
      needs: ["Node >=24"],
      rights: "b",
    });
    for (const part of [
      "| `s` | changes | **replaced** | stays |",
      "By this it is a minor release.",
      "that came: 1.37.0; that went: 1.35.0",
      "- Run the program of `ci` again",
      "- Needs Node >=24 (before: Node >=22)",
    ])
      assert.ok(notes.includes(part), part);
  });
});
