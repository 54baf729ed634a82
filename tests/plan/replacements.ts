import { readFileSync } from "node:fs";
import { z } from "zod";
import { replacementRow } from "../../plan/replacement/table.ts";

/**
 * Tells where the table of what replaces a resource differs from a package's schema (`pulumi package get-schema`), for
 * the types and inputs of a plan. What a row decides by values, or inside an input, no schema shows.
 */
const [schema, plan] = process.argv.slice(2).map((file): unknown => JSON.parse(readFileSync(file, "utf8")));
const property = z.object({ willReplaceOnChanges: z.boolean().default(false) });
const resource = z.object({ inputProperties: z.record(z.string(), property).default({}) });
const { resources } = z.object({ resources: z.record(z.string(), resource) }).parse(schema);
const differences = z
  .object({ resources: z.array(z.object({ type: z.string(), inputs: z.record(z.string(), z.unknown()) })) })
  .parse(plan)
  .resources.flatMap(({ type, inputs }) => {
    const known = Object.entries(resources[type]?.inputProperties ?? {});
    const { replaces = [], when = {} } = replacementRow(type) ?? {};
    // A type without any mark, of Terraform's newer framework, says nothing.
    if (!known.some(([, { willReplaceOnChanges }]) => willReplaceOnChanges)) return [];
    return known
      .filter(([name]) => name in inputs && when[name] === undefined)
      .filter(([name, { willReplaceOnChanges }]) => willReplaceOnChanges !== replaces.includes(name))
      .map(([name]) => `${type} ${name}`);
  });
for (const each of new Set(differences)) console.log(`${each}: the table and the schema differ`);
process.exitCode = Math.min(differences.length, 1);
