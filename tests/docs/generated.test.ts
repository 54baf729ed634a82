import assert from "node:assert/strict";
import path from "node:path";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { configurationMarkdown } from "../../components/config/markdown.ts";
import { differenceOf, matchSnapshot } from "../support/snapshot.ts";
import { readDocument, root } from "./documents.ts";
import { fillGenerated, ownersTable, settingsList } from "./tables.ts";

const mostChanged = [
  ...["cloud", "name", "region", "accountId", "environment", "kubernetes.version", "tags"],
  ...["network.zones", "network.cidr", "network.nat", "controlPlane.replicas", "controlPlane.size"],
  ...["pools[].name", "pools[].os", "pools[].size", "pools[].count", "pools[].autoscale"],
  ...["access.public.allow", "access.signIn", "addons.logs"],
];

/** Compares the generated parts of a document, or writes them. */
function matchGenerated(file: string, parts: Readonly<Record<string, string>>): void {
  matchSnapshot(path.join(root, file), fillGenerated(readDocument(file).text, parts));
}

describe("generated parts of the documentation", () => {
  it("configuration.md has the settings that most stacks change, as the schema has them", () => {
    matchGenerated("docs/configuration.md", {
      settings: settingsList(configurationMarkdown(configJsonSchema()), mostChanged),
    });
  });

  it("platform.md: whose inputs are", () => {
    matchGenerated("docs/platform.md", { owners: ownersTable() });
  });

  it("fillGenerated refuses a part without a place, and a place without a part", () => {
    const document = "a\n<!-- generated: x -->\n\nold\n<!-- end -->\nb\n";
    assert.equal(fillGenerated(document, { x: "new\n" }), "a\n<!-- generated: x -->\n\nnew\n\n<!-- end -->\nb\n");
    assert.throws(() => fillGenerated(document, {}), /nobody makes the generated part x/);
    assert.throws(() => fillGenerated(document, { x: "", y: "" }), /has no place for y/);
  });

  it("a difference is shown by its first lines", () => {
    assert.equal(
      differenceOf("x.md", "a\nb\nc\nd\n", "a\nB\nc\nD\n"),
      "x.md differs at line 2 and in 1 more places; UPDATE_SNAPSHOTS=1 rewrites it\n-b\n+B",
    );
  });
});
