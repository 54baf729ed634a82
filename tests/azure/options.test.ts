import path from "node:path";
import type { RecordedOptions } from "../../plan/program/recorded.ts";
import { runStack } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

/** The tested options, each on a line. */
function optionsOf({ replaceOnChanges, ignoreChanges, deleteBeforeReplace }: RecordedOptions): string {
  const set = {
    replaceOnChanges: replaceOnChanges.join(" "),
    ignoreChanges: ignoreChanges.join(" "),
    deleteBeforeReplace: String(deleteBeforeReplace ?? ""),
  };
  return Object.entries(set)
    .map(([name, value]) => (value === "" ? "" : `\n  ${name}: ${value}`))
    .join("");
}

describe("the options of the resources on Azure", () => {
  // azure-native does not know what Azure refuses to change, or mistakes for a change what Azure filled in itself.
  // Kinds that are not in the snapshot have none: Azure then refuses, and nothing has been deleted.
  it("are these, by kind", async () => {
    const { program } = await runStack("azure-prod");
    const own = program.resources.filter(({ type }) => type.startsWith("azure-native:"));
    const kinds = [...Map.groupBy(own, ({ type }) => type)].map(([type, resources]) => {
      const variants = [...new Set(resources.map(({ options }) => optionsOf(options)))].sort();
      return variants.join("") === "" ? "" : variants.map((variant) => `${type}${variant}\n`).join("");
    });
    matchSnapshot(path.join(import.meta.dirname, "snapshots/options.txt"), kinds.sort().join(""));
  });
});
