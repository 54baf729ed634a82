import { Argument, Command as Declaration } from "@commander-js/extra-typings";
import { z } from "zod";
import { configJsonSchema, stackFileJsonSchema } from "../components/config/jsonSchema.ts";
import { configurationMarkdown } from "../components/config/markdown.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { planJsonSchema } from "../plan/plan.ts";
import { findingList } from "../plan/report/findings.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { stacksSchema } from "./stacks.ts";

/** The schema that the stack files' first line names. */
export const schemaFile = new URL("schema.json", stacksFolder);

export function renderSchema(): string {
  return `${JSON.stringify(stackFileJsonSchema(), null, 2)}\n`;
}

/** What prints JSON, by its command. */
const schemas = {
  stack: stackFileJsonSchema,
  plan: planJsonSchema,
  stacks: () => z.toJSONSchema(stacksSchema),
} as const;
const names = ["stack", "plan", "stacks"] as const satisfies readonly (keyof typeof schemas)[];

export const command = commandOf(
  new Declaration()
    .description(
      "Prints the JSON Schema of a stack file, by which editors check and complete it, or of what a command prints with --json.",
    )
    .addArgument(new Argument("[of]", "what the schema is of").choices(names).default("stack" as const))
    .option("--markdown", "every setting to read: what is allowed, its default and what it means")
    .option(
      "--findings",
      "what a plan can say, by the names that acknowledge takes; with two levels the second is production's, or that of the worse case",
    ),
  async ({ markdown, findings }, { out }, of) => {
    if (markdown) out(configurationMarkdown(configJsonSchema()));
    else if (findings) out(`${findingList()}\n`);
    else out(`${JSON.stringify(schemas[of](), null, 2)}\n`);
    return exitCodes.fine;
  },
);
