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

/** A setting in the reference. */
interface Row {
  /** Path below `config`, without the prefix: `pools[].autoscale.min`. */
  readonly path: string;
  readonly allowed: string;
  /** `required`, the default as it is written in JSON, or empty. */
  readonly otherwise: string;
  readonly description: string;
}

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
        ...list([row(key, schema, required), ...rowsBelow(key, schema, known)]),
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
 * Rows of a setting's fields. Those that an earlier setting has in the same words are not repeated: `known` names it by
 * them.
 */
function rowsBelow(path: string, schema: JsonSchema, known: Map<string, string>): readonly Row[] {
  const parts = partsOf(schema);
  if (parts === undefined) return [];
  const stem = parts === schema ? path : `${path}[]`;
  const fields = Object.entries(parts.properties ?? {}).map(([key, value]) => {
    const path = `${stem}.${key}`;
    const required = parts.required?.includes(key) ?? false;
    return { schema: value, required, rows: rowsOf(path, value, required, known) };
  });
  return /[.[]/.test(path) ? fields.flatMap(({ rows }) => rows) : inGroups(fields);
}

function rowsOf(path: string, schema: JsonSchema, required: boolean, known: Map<string, string>): readonly Row[] {
  const own = row(path, schema, required);
  const below = partsOf(schema);
  if (below === undefined) return [own];
  const fields = JSON.stringify([below.properties, below.required]);
  const earlier = known.get(fields);
  if (earlier !== undefined)
    return [{ ...own, description: `${own.description} Its keys are those of \`${earlier}\`.`.trim() }];
  known.set(fields, path);
  return [own, ...rowsBelow(path, schema, known)];
}

/** Entries with a heading over each group, if there are several. */
function inGroups(
  settings: readonly { readonly schema: JsonSchema; readonly required: boolean; readonly rows: readonly Row[] }[],
): readonly Row[] {
  const groups = grouped(settings);
  return groups.flatMap(([group, own]) => [
    ...(groups.length < 2 ? [] : [{ path: "", allowed: "", otherwise: "", description: group }]),
    ...own.flatMap(({ rows }) => rows),
  ]);
}

function row(path: string, schema: JsonSchema, required: boolean): Row {
  return {
    path,
    allowed: allowedText(schema),
    otherwise: required
      ? "required"
      : schema.default === undefined
        ? ""
        : `default \`${JSON.stringify(schema.default)}\``,
    description: [ownerOf(path)?.words.title, schema.description].filter((part) => part !== undefined).join(": "),
  };
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

/** An entry for each setting: what is allowed, whether it is required or its default, and what it means. */
function list(rows: readonly Row[]): readonly string[] {
  return [
    ...rows.flatMap(({ path, allowed, otherwise, description }) =>
      path === ""
        ? ["", `**${description}**`, ""]
        : [`- \`${path}\` (${[allowed, otherwise].filter((part) => part !== "").join("; ")}): ${entry(description)}`],
    ),
    "",
  ];
}

/** Text of an entry: a new line would end it, an angle bracket would start a tag. */
function entry(text: string): string {
  return text
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("<", "&lt;");
}
