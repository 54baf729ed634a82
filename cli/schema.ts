import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { stackFileJsonSchema } from "../components/config/jsonSchema.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { planJsonSchema } from "../plan/plan.ts";
import { type Command, exitCodes } from "./exit.ts";

/** The schema that the stack files' first line names. */
export const schemaFile = new URL("schema.json", stacksFolder);

export function renderSchema(): string {
  return `${JSON.stringify(stackFileJsonSchema(), null, 2)}\n`;
}

export const command: Command = {
  help: `Usage: fenestra schema [--plan | --write]

Prints the JSON Schema of a stack file, by which editors check and complete it.

  --plan    that of plan.json in its place
  --write   write it to stacks/schema.json in place of printing
`,
  run: async (args, { out }) => {
    const { values } = parseArgs({
      args: [...args],
      options: { plan: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
    });
    if (values.write) writeFileSync(schemaFile, renderSchema());
    else out(values.plan ? `${JSON.stringify(planJsonSchema(), null, 2)}\n` : renderSchema());
    return exitCodes.fine;
  },
};
