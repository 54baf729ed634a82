import { configPrefix } from "../model/problem.ts";
import { ownerOf } from "./cloudSchema.ts";
import { grouped } from "./groups.ts";
import { describeAllowed, type JsonSchema } from "./jsonSchema.ts";

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
 * The reference of every setting of a stack file as Markdown. Pure: the same schema gives the same text.
 * `docs/configuration.md` is this, and a test keeps it current.
 *
 * @param schema of the config, keys without the project's prefix
 */
export function configurationMarkdown(schema: JsonSchema): string {
  const entries = Object.entries(schema.properties ?? {});
  const known = new Map<string, string>();
  const settings = entries.map(([key, value]) => ({ key, value, required: schema.required?.includes(key) ?? false }));
  const sections = settings.map((setting) => ({ ...setting, below: rowsBelow(setting.key, setting.value, known) }));
  const isSmall = ({ below }: { readonly below: readonly Row[] }): boolean => below.length < 5;
  const small = sections.filter(isSmall).map((setting) => ({ ...setting, path: setting.key }));
  return [
    "# Configuration",
    "",
    "<!-- Made from components/config/schema.ts; `UPDATE_SNAPSHOTS=1` with tests/docs rewrites it. -->",
    "",
    `Settings of a stack file, \`stacks/Pulumi.<stack>.yaml\`. Each key below \`config\` begins with \`${configPrefix}\`; an unknown one`,
    "is refused. All mistakes that can be judged beside the others are told at once, with place, value, what is allowed and",
    "how to fix it. `fenestra plan` checks a file without an account; [stacks/schema.json](../stacks/schema.json) lets an",
    "editor do so while you type.",
    "",
    "What there is no setting for, and what to do instead, is in [limits.md](limits.md); other arguments of a resource are\n[transforms](transforms.md).",
    "",
    "In the tables a path such as `pools[].autoscale.min` means the field `min` of `autoscale` of each entry of `pools`.",
    "",
    "What a stack needs comes first, then what is usual, then what few set, because their organisation demands it.",
    "",
    "## The stack",
    "",
    ...table(
      inGroups(
        small.map((setting) => ({
          ...setting,
          rows: [row(setting.key, setting.value, setting.required), ...setting.below],
        })),
      ),
    ),
    ...sections
      .filter((setting) => !isSmall(setting))
      .flatMap(({ key, value, required, below }) => [
        `## ${configPrefix}${key}`,
        "",
        `${value.description ?? ""} ${required ? "Required" : "Optional"}: ${allowedText(value)}.`.trim(),
        "",
        ...table(below),
      ]),
  ].join("\n");
}

/** The schema that describes a setting's fields; `undefined` for a setting without fields. */
function partsOf(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties !== undefined) return schema;
  return schema.items?.properties === undefined ? undefined : schema.items;
}

/**
 * Rows of a setting's fields. Fields that an earlier setting has in the same words are not repeated: `known` names it
 * by them.
 */
function rowsBelow(path: string, schema: JsonSchema, known: Map<string, string>): readonly Row[] {
  const parts = partsOf(schema);
  if (parts === undefined) return [];
  const stem = parts === schema ? path : `${path}[]`;
  const fields = Object.entries(parts.properties ?? {}).map(([key, value]) => {
    const path = `${stem}.${key}`;
    const required = parts.required?.includes(key) ?? false;
    return { path, required, rows: rowsOf(path, value, required, known) };
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

/** Rows with a heading over each group, where there are several. */
function inGroups(
  settings: readonly { readonly path: string; readonly required: boolean; readonly rows: readonly Row[] }[],
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
    otherwise: required ? "required" : schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``,
    description: [ownerOf(path)?.words.title, schema.description].filter((part) => part !== undefined).join(": "),
  };
}

/** What is allowed, in the words of the error messages. */
function allowedText(schema: JsonSchema): string {
  // Keys have rows of their own.
  return describeAllowed({ ...schema, description: undefined }).replace(/ with the keys .*/, "");
}

function table(rows: readonly Row[]): readonly string[] {
  return [
    "| Setting | Allowed | Default | Meaning |",
    "| --- | --- | --- | --- |",
    ...rows.map(({ path, allowed, otherwise, description }) =>
      path === ""
        ? `| **${description}** | | | |`
        : ["", `\`${path}\``, cell(allowed), otherwise, cell(description), ""].join(" | ").trim(),
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
