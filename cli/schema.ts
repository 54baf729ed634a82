import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { stackFileJsonSchema } from "../components/config/jsonSchema.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { planJsonSchema } from "../plan/report/plan.ts";
import { type Command, exitCodes } from "./exit.ts";

/** Where the stack files' first line finds the schema. */
export const schemaFile = new URL("schema.json", stacksFolder);

/** JSON Schema of a stack file as `stacks/schema.json` has it. */
export function renderSchema(): string {
  return `${JSON.stringify(stackFileJsonSchema(), null, 2)}\n`;
}

/** The schema of plan.json, for those who read plans by program. */
export const planSchemaFile = new URL("../docs/plan.schema.json", import.meta.url);

/** JSON Schema of plan.json as `docs/plan.schema.json` has it. */
export function renderPlanSchema(): string {
  return `${JSON.stringify(planJsonSchema(), null, 2)}\n`;
}

/** Writes `stacks/schema.json` and `docs/plan.schema.json` (`fenestra schema --write`). */
function writeSchema(): void {
  writeFileSync(schemaFile, renderSchema());
  writeFileSync(planSchemaFile, renderPlanSchema());
}

/** `fenestra schema`. */
export const schemaCommand: Command = {
  summary: "Print the JSON Schema of a stack file",
  help: `Usage: fenestra schema [--plan] [--write]

Prints the JSON Schema of a stack file, by which editors check and complete it.

  --plan    that of plan.json in its place
  --write   write both, to stacks/schema.json and docs/plan.schema.json, in place of printing
`,
  run: async (args, { out }) => {
    const { values } = parseArgs({
      args: [...args],
      options: { plan: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
    });
    if (values.write) writeSchema();
    else out(values.plan ? renderPlanSchema() : renderSchema());
    return exitCodes.fine;
  },
};
