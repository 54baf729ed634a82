import type { z } from "zod";
import { type JsonSchema, schemaAt } from "./jsonSchema.ts";
import { childPath } from "./problem.ts";

/** Thrown when a rule reads a value that the schema has refused already: what the rule would say of it is no news. */
class UnreadableValue extends Error {
  override readonly name = "UnreadableValue";
}

/** What a check finds; nothing when it had to read a value that the schema has refused. */
export function attempt<T>(check: () => readonly T[]): readonly T[] {
  try {
    return check();
  } catch (error) {
    if (error instanceof UnreadableValue) return [];
    throw error;
  }
}

/**
 * The same value, except that reading one of the refused paths ends the check that reads it (`attempt`). So a file with a misspelt zone
 * and two overlapping networks tells both, and no rule complains about a stand-in. A rule that can judge the items of a list one by one
 * goes over its `keys()`, since `map` and its like read every item.
 */
export function tracked<T extends object>(value: T, refused: ReadonlySet<string>, path = "config"): T {
  return new Proxy(value, {
    get(target, key): unknown {
      const found: unknown = Reflect.get(target, key);
      if (typeof key === "symbol" || !Object.hasOwn(target, key)) return found;
      const at = childPath(path, Array.isArray(target) && /^\d+$/.test(key) ? Number(key) : key);
      if (refused.has(at)) throw new UnreadableValue(at);
      return typeof found === "object" && found !== null ? tracked(found, refused, at) : found;
    },
  });
}

/** A copy of the values in which everything that the schema refused is left out, or replaced by a stand-in where it is required. */
export function repaired(values: object, issues: readonly z.core.$ZodIssue[], schema: JsonSchema): object {
  const copy = structuredClone(values);
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) replaceAt(copy, [...issue.path, key], schema);
    } else replaceAt(copy, issue.path, schema);
  }
  return copy;
}

function replaceAt(root: object, path: readonly PropertyKey[], schema: JsonSchema): void {
  const last = path.at(-1);
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((value, step) => (isObject(value) ? Reflect.get(value, step) : undefined), root);
  if (last === undefined || !isObject(parent)) return;
  const required = Array.isArray(parent) || schemaAt(schema, path.slice(0, -1))?.required?.includes(String(last));
  if (required) Reflect.set(parent, last, standIn(schemaAt(schema, path)));
  else Reflect.deleteProperty(parent, last);
}

/** Some value that the schema accepts; text with a pattern takes the schema's own example. */
function standIn(schema: JsonSchema | undefined): unknown {
  const first = schema?.enum?.[0] ?? schema?.examples?.[0];
  if (first !== undefined) return first;
  switch (schema?.type) {
    case "object":
      return Object.fromEntries((schema.required ?? []).map((key) => [key, standIn(schema.properties?.[key])]));
    case "array":
      return [standIn(schema.items)];
    case "integer":
    case "number":
      return Math.max(1, schema.minimum ?? 1);
    case "boolean":
      return false;
    default:
      return "x";
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
