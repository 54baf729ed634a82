import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { configJsonSchema, stackFileJsonSchema } from "../components/config/jsonSchema.ts";
import { configurationMarkdown } from "../components/config/markdown.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { planJsonSchema } from "../plan/plan.ts";
import { findingList } from "../plan/report/findings.ts";
import { type Command, exitCodes } from "./exit.ts";

/** The schema that the stack files' first line names. */
export const schemaFile = new URL("schema.json", stacksFolder);

export function renderSchema(): string {
  return `${JSON.stringify(stackFileJsonSchema(), null, 2)}\n`;
}

export const command: Command = {
  help: `Usage: fenestra schema [--markdown | --findings | --plan | --write]

Prints the JSON Schema of a stack file, by which editors check and complete it.

  --markdown  every setting to read: what is allowed, its default and what it means
  --findings  what a plan can say, by the names that acknowledge takes; with two
              levels the second is production's, or that of the worse case
  --plan      the schema of plan.json
  --write     write it to stacks/schema.json in place of printing
`,
  run: async (args, { out }) => {
    const { values } = parseArgs({
      args: [...args],
      options: {
        markdown: { type: "boolean", default: false },
        findings: { type: "boolean", default: false },
        plan: { type: "boolean", default: false },
        write: { type: "boolean", default: false },
      },
    });
    if (values.write) writeFileSync(schemaFile, renderSchema());
    else if (values.markdown) out(configurationMarkdown(configJsonSchema()));
    else if (values.findings) out(`${findingList()}\n`);
    else out(values.plan ? `${JSON.stringify(planJsonSchema(), null, 2)}\n` : renderSchema());
    return exitCodes.fine;
  },
};
