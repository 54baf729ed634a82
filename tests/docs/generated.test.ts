import path from "node:path";
import { configJsonSchema } from "../../components/config/jsonSchema.ts";
import { configurationMarkdown } from "../../components/config/markdown.ts";
import { matchSnapshot } from "../support/snapshot.ts";
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
});
