import { describeAllowed, type JsonSchema } from "./jsonSchema.ts";
import { configPrefix } from "./problem.ts";

/** One row of the reference: a setting with what is allowed. */
interface Row {
  /** Path below `config`, without the prefix: `pools[].autoscale.min`. */
  readonly path: string;
  readonly allowed: string;
  /** `required`, the default as it is written in YAML, or empty. */
  readonly otherwise: string;
  readonly description: string;
}

/**
 * The reference of every setting of a stack file as Markdown. Pure: the same schema gives the same text. `docs/configuration.md` is this,
 * and a test keeps it current.
 *
 * @param schema of the config, keys without the project's prefix
 */
export function configurationMarkdown(schema: JsonSchema): string {
  const entries = Object.entries(schema.properties ?? {});
  const plain = entries.filter(([, value]) => partsOf(value) === undefined);
  const groups = entries.filter(([, value]) => partsOf(value) !== undefined);
  return [
    "# Configuration",
    "",
    "<!-- Made from components/config/schema.ts; `UPDATE_SNAPSHOTS=1` with tests/docs rewrites it. -->",
    "",
    `Settings of a stack file, \`stacks/Pulumi.<stack>.yaml\`. Each key below \`config\` begins with \`${configPrefix}\`; an unknown one is refused.`,
    "All mistakes that can be judged beside the others are told at once, with place, value, what is allowed and how to fix it. `fenestra plan` checks a file without",
    "an account; [stacks/schema.json](../stacks/schema.json) lets an editor do so while you type.",
    "",
    "What there is no setting for, and what to do instead, is in [limits.md](limits.md).",
    "",
    "In the tables a path such as `pools[].autoscale.min` means the field `min` of `autoscale` of each entry of `pools`.",
    "",
    "## The stack",
    "",
    ...table(plain.map(([key, value]) => row(key, value, schema.required?.includes(key) ?? false))),
    ...groups.flatMap(([key, value]) => section(key, value, schema.required?.includes(key) ?? false)),
  ].join("\n");
}

function section(key: string, schema: JsonSchema, required: boolean): readonly string[] {
  return [
    `## ${configPrefix}${key}`,
    "",
    `${schema.description ?? ""} ${required ? "Required" : "Optional"}: ${allowedText(schema)}.`.trim(),
    "",
    ...table(rowsBelow(key, schema)),
  ];
}

/** The schema that describes a setting's fields; `undefined` for a setting without fields. */
function partsOf(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties !== undefined) return schema;
  return schema.items?.properties === undefined ? undefined : schema.items;
}

function rowsBelow(path: string, schema: JsonSchema): readonly Row[] {
  const parts = partsOf(schema);
  if (parts === undefined) return [];
  const stem = parts === schema ? path : `${path}[]`;
  return Object.entries(parts.properties ?? {}).flatMap(([key, value]) => [
    row(`${stem}.${key}`, value, parts.required?.includes(key) ?? false),
    ...rowsBelow(`${stem}.${key}`, value),
  ]);
}

function row(path: string, schema: JsonSchema, required: boolean): Row {
  return {
    path,
    allowed: allowedText(schema),
    otherwise: required ? "required" : schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``,
    description: schema.description ?? "",
  };
}

/** What is allowed, in the words of the error messages. */
function allowedText(schema: JsonSchema): string {
  return describeAllowed({ ...schema, description: undefined });
}

function table(rows: readonly Row[]): readonly string[] {
  return [
    "| Setting | Allowed | Default | Meaning |",
    "| --- | --- | --- | --- |",
    ...rows.map(({ path, allowed, otherwise, description }) =>
      ["", `\`${path}\``, cell(allowed), otherwise, cell(description), ""].join(" | ").trim(),
    ),
    "",
  ];
}

/** Text for a table cell: a pipe or a new line would end the cell, an angle bracket would start a tag. */
function cell(text: string): string {
  return text
    .trim()
    .replaceAll(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;");
}
