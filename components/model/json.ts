import { lstatSync, statSync } from "node:fs";
import type { z } from "zod";

/** Longer than any file that people write for this program. */
const mostBytes = 2 ** 22;

/** Why a user's file cannot be read: a pipe would be waited for, and a device has no end. */
export function fileProblem(file: URL | string): string | undefined {
  try {
    const found = statSync(file);
    if (!found.isFile()) return "cannot be read: it is no plain file";
    return found.size > mostBytes ? `cannot be read: it has ${found.size} bytes, more than ${mostBytes}` : undefined;
  } catch (error) {
    return `cannot be read: ${Reflect.get(Object(error), "code")}`;
  }
}

/** Whether there is something of that name, also a link that leads nowhere: what it was to say would be left out. */
export const isThere = (file: string): boolean => {
  try {
    return lstatSync(file) !== undefined;
  } catch {
    return false;
  }
};

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
