import { z } from "zod";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { configPrefix } from "../model/problem.ts";
import { schemaOf } from "./cloudSchema.ts";
import { stackSchema } from "./schema.ts";

const text = z.string().optional();
const number = z.number().optional();

/** What zod writes of JSON Schema for our schema. */
const jsonSchemaShape = z.looseObject({
  type: text,
  description: text,
  default: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  get anyOf() {
    return z.array(jsonSchemaShape).optional();
  },
  pattern: text,
  /** A well-known format, such as `uuid`. */
  format: text,
  /** The pattern in words; editors show it too. */
  patternErrorMessage: text,
  examples: z.array(z.unknown()).optional(),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  minLength: number,
  maxLength: number,
  minItems: number,
  maxItems: number,
  get items() {
    return jsonSchemaShape.optional();
  },
  get properties() {
    return z.record(z.string(), jsonSchemaShape).optional();
  },
  required: z.array(z.string()).optional(),
  get additionalProperties() {
    return z.union([z.boolean(), jsonSchemaShape]).optional();
  },
  /** A password, encrypted in a stack file. */
  writeOnly: z.boolean().optional(),
  /** Of what few set; see `ofOrganisation`. */
  group: text,
});

export type JsonSchema = z.output<typeof jsonSchemaShape>;

/** JSON Schema of our part of a stack's config, keys without the project's prefix; default all clouds'. */
export function configJsonSchema(of: z.ZodObject = stackSchema): JsonSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(of, { io: "input" });
  // zod's result type is looser than what it writes for our schema.
  return jsonSchemaShape.parse(schema);
}

/** JSON Schema of a whole stack file, for editors: `stacks/schema.json`, which a test keeps current. */
export function stackFileJsonSchema(): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Fenestra stack file",
    description: "Configuration of one Fenestra environment: Pulumi.<stack>.yaml.",
    type: "object",
    properties: {
      config: {
        type: "object",
        required: [`${configPrefix}cloud`],
        properties: { [`${configPrefix}cloud`]: propertyOf(configJsonSchema(), "cloud") },
        allOf: Object.values(cloudFacts).map(({ name }) => ({
          if: { properties: { [`${configPrefix}cloud`]: { const: name } }, required: [`${configPrefix}cloud`] },
          // biome-ignore lint/suspicious/noThenProperty: a key of JSON Schema
          then: cloudPart(configJsonSchema(schemaOf(name))),
        })),
      },
    },
    required: ["config"],
  };
}

function cloudPart({ properties: own, required }: JsonSchema): object {
  const properties = Object.fromEntries(
    inOrder(own ?? {}, required ?? []).map(([key, value]) => [configPrefix + key, value]),
  );
  return {
    properties,
    required: (required ?? []).map((key) => configPrefix + key),
    // Keys of other namespaces (aws:, pulumi:) are Pulumi's.
    propertyNames: { anyOf: [{ enum: Object.keys(properties) }, { not: { pattern: `^${configPrefix}` } }] },
  };
}

/** Fields as a stack file has them, by their groups. */
function inOrder(properties: NonNullable<JsonSchema["properties"]>, needed: readonly string[]) {
  const fields = Object.entries(properties).map(([key, schema]) => ({ key, schema, required: needed.includes(key) }));
  return grouped(fields).flatMap(([, own]) => own.map(({ key, schema }) => [key, asWritten(schema)] as const));
}

/** The schema of a value as a stack file has it: passwords encrypted. */
function asWritten({ group, ...schema }: JsonSchema): JsonSchema {
  const { properties, additionalProperties, items } = schema;
  const description = group === undefined ? schema.description : `The organisation's: ${schema.description}`;
  if (schema.writeOnly === true)
    return {
      type: "object",
      properties: { secure: { type: "string" } },
      required: ["secure"],
      additionalProperties: false,
      description,
    };
  return {
    ...schema,
    ...(description !== undefined && { description }),
    ...(items !== undefined && { items: asWritten(items) }),
    ...(properties !== undefined && { properties: Object.fromEntries(inOrder(properties, schema.required ?? [])) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: asWritten(additionalProperties) }),
  };
}

/** The schema of an object's own property: a key may be called `constructor`. */
export function propertyOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  const { properties } = schema;
  return properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** The schema at a path, or `undefined` where the path leads out of it. */
export function schemaAt(root: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined {
  let current: JsonSchema | undefined = root;
  for (const step of path) {
    if (current === undefined) return undefined;
    if (typeof step === "number") current = current.items;
    else {
      const property: JsonSchema | undefined = propertyOf(current, String(step));
      current =
        property ?? (typeof current.additionalProperties === "object" ? current.additionalProperties : undefined);
    }
  }
  return current;
}

/** What a schema allows, in words for an error message. */
export function describeAllowed(schema: JsonSchema | undefined): string {
  if (schema === undefined) return "nothing here";
  const kind = describeKind(schema);
  return schema.description === undefined ? kind : `${kind}. ${schema.description}`;
}

function describeKind(schema: JsonSchema): string {
  if (schema.enum !== undefined) return `one of ${schema.enum.map(String).join(", ")}`;
  if (schema.anyOf !== undefined) return schema.anyOf.map(describeKind).join(" or ");
  if (schema.const !== undefined) return String(schema.const);
  if (schema.type === "object") {
    return schema.properties === undefined
      ? "a mapping of names to values"
      : `a mapping with the keys ${Object.keys(schema.properties).join(", ")}`;
  }
  if (schema.type === "array") return `a list${length(schema.minItems, schema.maxItems, "item")}`;
  if (schema.type === "integer") return `a whole number${range(schema)}`;
  if (schema.type === "number") return `a number${range(schema)}`;
  if (schema.type === "boolean") return "true or false";
  return [textKind(schema), textForm(schema), textExamples(schema)].filter((part) => part !== undefined).join(", ");
}

function textKind({ minLength, maxLength }: JsonSchema): string {
  return minLength === 1 && maxLength === undefined
    ? "a text that is not empty"
    : `a text${length(minLength, maxLength, "character")}`;
}

function textForm({ patternErrorMessage, format, pattern }: JsonSchema): string | undefined {
  if (patternErrorMessage !== undefined) return patternErrorMessage;
  if (format !== undefined) return `in the form of a ${format}`;
  return pattern === undefined ? undefined : `matching ${pattern}`;
}

function textExamples({ examples = [] }: JsonSchema): string | undefined {
  return examples.length === 0 ? undefined : `such as ${examples.map(String).join(" or ")}`;
}

function length(least: number | undefined, most: number | undefined, unit: string): string {
  const units = (count: number) => (count === 1 ? unit : `${unit}s`);
  if (least !== undefined && most !== undefined) return ` of ${least} to ${most} ${units(most)}`;
  if (most !== undefined) return ` of at most ${most} ${units(most)}`;
  return least === undefined ? "" : ` of at least ${least} ${units(least)}`;
}

/** zod writes the safe-integer bounds where the schema has none. */
function range({ minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  const least = minimum === Number.MIN_SAFE_INTEGER ? undefined : minimum;
  const most = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum;
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}`;
  if (least !== undefined && most !== undefined) return ` from ${least} to ${most}`;
  if (least !== undefined) return ` of at least ${least}`;
  return most === undefined ? "" : ` of at most ${most}`;
}

const groups = ["Needed", "Usual", "The organisation's"] as const;

/** Settings by their groups, in order, without empty ones. */
export function grouped<T extends { readonly required: boolean; readonly schema: JsonSchema }>(settings: readonly T[]) {
  const groupOf = ({ required, schema }: T): (typeof groups)[number] =>
    required ? "Needed" : schema.group === undefined ? "Usual" : "The organisation's";
  return groups
    .map((group) => [group, settings.filter((setting) => groupOf(setting) === group)] as const)
    .filter(([, own]) => own.length > 0);
}
