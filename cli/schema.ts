import { Argument, Command as Declaration } from "@commander-js/extra-typings";
import { z } from "zod";
import { ownerOf } from "../components/config/cloudSchema.ts";
import {
  configJsonSchema,
  describeAllowed,
  grouped,
  type JsonSchema,
  stackFileJsonSchema,
} from "../components/config/jsonSchema.ts";
import { stacksFolder } from "../components/config/stackFile.ts";
import { configPrefix } from "../components/model/problem.ts";
import { findingList } from "../plan/report/findings.ts";
import { commandOf, exitCodes } from "./exit.ts";
import { printed } from "./printed.ts";

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

/**
 * The reference of a stack file's settings as Markdown.
 *
 * @param schema of the config, keys without the project's prefix
 */
export function configurationMarkdown(schema: JsonSchema): string {
  const entries = Object.entries(schema.properties ?? {});
  const known = new Map<string, string>();
  const settings = entries.map(([key, value]) => ({
    ...{ key, schema: value, required: schema.required?.includes(key) ?? false },
  }));
  const lines = [
    "# Configuration",
    "",
    `Settings of a stack file, \`stacks/Pulumi.<stack>.yaml\`. Each key below \`config\` begins with \`${configPrefix}\`; an unknown one`,
    "is refused. All mistakes that can be judged beside the others are told at once, with place, value, what is allowed and",
    "how to fix it.",
    "",
    "A path such as `pools[].autoscale.min` means the field `min` of `autoscale` of each entry of `pools`. A name has",
    "lower-case letters, digits and hyphens, a letter first, no hyphen last.",
    "",
    "What a stack needs comes first, then what is usual, then what few set, because their organisation demands it.",
    "",
    ...grouped(settings)
      .flatMap(([, some]) => some)
      .flatMap(({ key, schema, required }) => [
        `## ${configPrefix}${key}`,
        "",
        ...entriesOf(key, schema, required, known),
        "",
      ]),
  ];
  return lines.join("\n").replaceAll(/\n{3,}/g, "\n\n");
}

/** The schema of a setting's fields; `undefined` for one without. */
function partsOf(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties !== undefined) return schema;
  return schema.items?.properties === undefined ? undefined : schema.items;
}

/**
 * Entries of a setting's fields. Those that an earlier setting has in the same words are not repeated: `known` names it by
 * them.
 */
function entriesBelow(path: string, schema: JsonSchema, known: Map<string, string>): readonly string[] {
  const parts = partsOf(schema);
  if (parts === undefined) return [];
  const stem = parts === schema ? path : `${path}[]`;
  const fields = Object.entries(parts.properties ?? {}).map(([key, value]) => {
    const path = `${stem}.${key}`;
    const required = parts.required?.includes(key) ?? false;
    return { schema: value, required, entries: entriesOf(path, value, required, known) };
  });
  return /[.[]/.test(path) ? fields.flatMap(({ entries }) => entries) : inGroups(fields);
}

function entriesOf(path: string, schema: JsonSchema, required: boolean, known: Map<string, string>): readonly string[] {
  const below = partsOf(schema);
  if (below === undefined) return [entryOf(path, schema, required)];
  const fields = JSON.stringify([below.properties, below.required]);
  const earlier = known.get(fields);
  if (earlier !== undefined) return [entryOf(path, schema, required, `Its keys are those of \`${earlier}\`.`)];
  known.set(fields, path);
  return [entryOf(path, schema, required), ...entriesBelow(path, schema, known)];
}

/** Entries with a heading over each group, if there are several. */
function inGroups(
  settings: readonly { readonly schema: JsonSchema; readonly required: boolean; readonly entries: readonly string[] }[],
): readonly string[] {
  const groups = grouped(settings);
  return groups.flatMap(([group, own]) => [
    ...(groups.length < 2 ? [] : ["", `**${group}**`, ""]),
    ...own.flatMap(({ entries }) => entries),
  ]);
}

/**
 * An entry: what is allowed, whether it is required or its default as it is written in JSON, and what it means.
 *
 * @param path below `config`, without the prefix: `pools[].autoscale.min`
 */
function entryOf(path: string, schema: JsonSchema, required: boolean, more = ""): string {
  const preset = schema.default === undefined ? "" : `default \`${JSON.stringify(schema.default)}\``;
  const form = [allowedText(schema), required ? "required" : preset].filter((part) => part !== "").join("; ");
  const meaning = [ownerOf(path)?.words.title, schema.description].filter((part) => part !== undefined).join(": ");
  return `- \`${path}\` (${form}): ${entry(`${meaning} ${more}`)}`;
}

/** What is allowed: the error messages' words, shortened. */
function allowedText(schema: JsonSchema): string {
  // Keys have entries of their own.
  const words = describeAllowed({ ...schema, description: undefined }).replace(/ with the keys .*/, "");
  return shorter.reduce((text, [long, short]) => text.replaceAll(long, short), words);
}

const shorter: readonly (readonly [long: RegExp, short: string])[] = [
  [/lower-case letters, digits and hyphens, a letter first, no hyphen last/g, "a name"],
  [/\ba text that is not empty/g, "text, not empty"],
  [/\ba list of at least 1 item/g, "list, not empty"],
  [/\ba mapping of names to values/g, "names to values"],
  [/\ba (whole )?number from /g, ""],
  [/\ba whole number of at least (\d+)/g, "$1 or more"],
  [/^a text(,| of) /g, ""],
  [/ items$/g, ""],
  [/^an? (?=list|mapping|text)/g, ""],
];

/** Text of an entry: a new line would end it, an angle bracket would start a tag. */
function entry(text: string): string {
  return text
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("<", "&lt;");
}
