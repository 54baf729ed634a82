import fc from "fast-check";
import { z } from "zod";

/**
 * Values that a schema accepts; `undefined` where only rules know: texts and lists without an example, mappings with
 * any key.
 */
function valuesOf(schema: z.core.$ZodType): fc.Arbitrary<unknown> | undefined {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return valuesOf(schema.unwrap());
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...schema.options);
  if (schema instanceof z.ZodLiteral) return fc.constantFrom(...schema.values);
  if (schema instanceof z.ZodUnion) {
    const options = schema.options.flatMap((option) => valuesOf(option) ?? []);
    return options.length === schema.options.length ? fc.oneof(...options) : undefined;
  }
  if (schema instanceof z.ZodNumber && schema.minValue !== null && schema.maxValue !== null)
    return fc.integer({ min: schema.minValue, max: Math.min(schema.maxValue, schema.minValue + 1000) });
  if (schema instanceof z.ZodObject) {
    const needed = Object.values(schema.shape).filter((field) => !z.safeParse(field, undefined).success);
    return needed.length > 0 ? undefined : settingsOf(schema, []);
  }
  const examples = schema instanceof z.ZodType ? schema.meta()?.examples : undefined;
  return Array.isArray(examples) && examples.length > 0 ? fc.constantFrom(...examples) : undefined;
}

/**
 * Some settings of a mapping with values that its schema accepts, if it tells which.
 *
 * @param tied settings to leave out, since their values depend on others
 */
export function settingsOf(schema: z.ZodObject, tied: readonly string[]): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.entries(schema.shape).flatMap(([key, field]) => {
    const values = tied.includes(key) ? undefined : valuesOf(field);
    return values === undefined ? [] : [[key, values] as const];
  });
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}
