import { readFileSync } from "node:fs";
import { z } from "zod";
import { replacementRow } from "./table.ts";

const propertySchema = z.looseObject({
  willReplaceOnChanges: z.boolean().optional(),
  $ref: z.string().optional(),
  items: z.looseObject({ $ref: z.string().optional() }).optional(),
});
type Property = z.output<typeof propertySchema>;
const properties = z.record(z.string(), propertySchema);

/** The part of a package's schema (`pulumi package get-schema`) that says what replaces a resource. */
const packageSchema = z.looseObject({
  resources: z.record(z.string(), z.looseObject({ inputProperties: properties.default({}) })),
  types: z.record(z.string(), z.looseObject({ properties: properties.default({}) })).default({}),
});

const planSchema = z.looseObject({
  resources: z.array(z.looseObject({ type: z.string(), inputs: z.record(z.string(), z.unknown()) })),
});

/**
 * Where the table and a package's schema differ, for the types and inputs of these plans. A type without any mark
 * (Terraform's newer framework) says nothing, and no schema shows what a row decides by values.
 */
export function differencesFrom(schemaText: string, planTexts: readonly string[]): readonly string[] {
  const { resources, types } = packageSchema.parse(JSON.parse(schemaText));
  const used = new Map<string, Set<string>>();
  for (const text of planTexts)
    for (const { type, inputs } of planSchema.parse(JSON.parse(text)).resources)
      used.set(type, new Set([...(used.get(type) ?? []), ...Object.keys(inputs)]));
  const inside = (property: Property | undefined): Readonly<Record<string, Property>> =>
    types[(property?.$ref ?? property?.items?.$ref ?? "").replace("#/types/", "")]?.properties ?? {};
  return [...used].sort().flatMap(([type, inputs]) => {
    const own = resources[type]?.inputProperties ?? {};
    const row = replacementRow(type);
    if (row === undefined || !Object.values(own).some(({ willReplaceOnChanges }) => willReplaceOnChanges === true))
      return [];
    const declared = row.replaces.filter((key) => row.when?.[key] === undefined && inputs.has(key.split(".")[0] ?? ""));
    const marked = (key: string): boolean => {
      const [first = "", second] = key.split(".");
      const outer = own[first];
      return (
        outer?.willReplaceOnChanges === true ||
        (second !== undefined && inside(outer)[second]?.willReplaceOnChanges === true)
      );
    };
    const unknown = declared
      .filter((key) => !marked(key))
      .map((key) => `${type} ${key}: replaces in the table, not in the schema`);
    const missing = [...inputs]
      .filter((key) => own[key]?.willReplaceOnChanges === true && !row.replaces.includes(key))
      .map((key) => `${type} ${key}: replaces in the schema, not in the table`);
    return [...unknown, ...missing];
  });
}

if (import.meta.main) {
  const [schema = "", ...plans] = process.argv.slice(2).map((file) => readFileSync(file, "utf8"));
  const differences = differencesFrom(schema, plans);
  for (const line of differences) process.stdout.write(`${line}\n`);
  process.exitCode = differences.length === 0 ? 0 : 1;
}
