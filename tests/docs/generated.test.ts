import assert from "node:assert/strict";
import path from "node:path";
import { awsOwners } from "../../components/aws/owners.ts";
import { azureOwners } from "../../components/azure/owners.ts";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { configurationMarkdown } from "../../components/config/markdown.ts";
import { planOf } from "../support/planOf.ts";
import { differenceOf, matchSnapshot } from "../support/snapshot.ts";
import { stackConfig } from "../support/stacks.ts";
import { readDocument, root } from "./documents.ts";
import { azureRightsTable, fillGenerated, heldList, ownersTable } from "./tables.ts";

/** Compares the generated parts of a document, or writes them. */
function matchGenerated(file: string, parts: Readonly<Record<string, string>>): void {
  matchSnapshot(path.join(root, file), fillGenerated(readDocument(file).text, parts));
}

describe("generated parts of the documentation", () => {
  it("configuration.md follows the schema", () => {
    matchSnapshot(path.join(root, "docs/configuration.md"), configurationMarkdown(configJsonSchema(), false));
  });

  it("platform.md and both clouds: whose inputs are, and what of others holds destroy", () => {
    matchGenerated("docs/platform.md", { owners: ownersTable() });
    matchGenerated("docs/aws.md", { held: heldList(awsOwners) });
    matchGenerated("docs/azure.md", { held: heldList(azureOwners) });
  });

  it("security.md: roles on Azure are those of the program", async function () {
    this.timeout(120_000);
    matchGenerated("docs/security.md", {
      "azure-rights": azureRightsTable(await planOf("azure-dev", stackConfig("azure-dev"))),
    });
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
