import type { z } from "zod";

/** `undefined` for a text that is no JSON. */
export function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where a value has another form than its schema, and how: `status.conditions: Invalid input: ...`. */
export function formProblem({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

/** What stands at a path of keys, such as `sku.capacity`, of a value of any form; `undefined` for nothing. */
export function at(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce((inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined), value);
}

/** Whether a path is another one, or below it; `*` is above all. */
export const isWithin = (path: string, other: string): boolean =>
  other === "*" || path === other || path.startsWith(`${other}.`) || path.startsWith(`${other}[`);
