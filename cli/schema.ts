import { Argument, Command as Declaration } from "@commander-js/extra-typings";
import { z } from "zod";
import { configJsonSchema, stackFileJsonSchema } from "../components/config/jsonSchema.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { findingList } from "../plan/report/findings.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { printed } from "./printed.ts";
import { configurationMarkdown } from "./settingsPage.ts";

/** The schema that the stack files' first line names. */
export const schemaFile = new URL("schema.json", stacksFolder);

export function renderSchema(): string {
  return `${JSON.stringify(stackFileJsonSchema(), null, 2)}\n`;
}

export const command = commandOf(
  new Declaration()
    .description(
      "Prints the JSON Schema of a stack file, by which editors check and complete it, or of what a command prints with --json: plan-diff is that of plan --diff.",
    )
    .addArgument(
      new Argument("[of]", "what the schema is of").choices(["stack", ...Object.keys(printed)]).default("stack"),
    )
    .option("--markdown", "every setting to read: what is allowed, its default and what it means")
    .option(
      "--findings",
      "what a plan can say, by the names that acknowledge takes; with two levels the second is production's, or that of the worse case",
    ),
  async ({ markdown, findings }, { out }, of) => {
    const [, schema] = Object.entries(printed).find(([name]) => name === of) ?? [];
    if (markdown) out(configurationMarkdown(configJsonSchema()));
    else if (findings) out(`${findingList()}\n`);
    else if (schema === undefined) out(renderSchema());
    else out(`${JSON.stringify({ title: `fenestra ${of} --json`, ...z.toJSONSchema(schema) }, null, 2)}\n`);
    return exitCodes.fine;
  },
);
