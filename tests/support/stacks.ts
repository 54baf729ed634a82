import { fileURLToPath } from "node:url";
import type { JsonSchema } from "../../components/config/jsonSchema.ts";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { clusterSpec } from "../../components/model/clusterSpec.ts";

/** The examples: users' files in `stacks/` change no test's result. */
export const testStacks = new URL("../../examples/stacks/", import.meta.url);

export const stackDir = ["--stack-dir", fileURLToPath(testStacks)] as const;

/** An example's config values, as Pulumi passes them. */
export function stackConfig(stack: string) {
  return readStackFile(stack, testStacks);
}

/** Config values as Pulumi passes them: bare text for scalars, else JSON. */
export function configTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [`fenestra:${key}`, text(value)]));
}

export function exampleSpec(stack: "aws-dev" | "aws-prod" | "azure-dev" | "azure-prod") {
  return clusterSpec(loadConfig(stackConfig(stack)));
}

/** A stack's config as plain values, keys without the project's prefix. */
export type PlainConfig = Record<string, unknown>;

/** Sets a value in a tree of plain values, making mappings on the way. `undefined` removes. */
export function setAt(root: object, path: readonly (string | number)[], value: unknown): void {
  const [step, ...rest] = path;
  // A list's length is no place for a value, nor can JSON say it.
  if (step === undefined || (Array.isArray(root) && step === "length")) return;
  if (rest.length === 0) {
    if (value === undefined) Reflect.deleteProperty(root, step);
    else Object.defineProperty(root, step, { value, enumerable: true, configurable: true, writable: true });
    return;
  }
  const found: unknown = Object.hasOwn(root, step) ? Reflect.get(root, step) : undefined;
  const next = typeof found === "object" && found !== null ? found : {};
  Object.defineProperty(root, step, { value: next, enumerable: true, configurable: true, writable: true });
  setAt(next, rest, value);
}

/** A changed copy, by paths such as `pools.0.name`; `null` removes. */
export function changedAt(config: object, changes: Readonly<Record<string, unknown>>) {
  const copy: PlainConfig = { ...structuredClone(config) };
  for (const [path, value] of Object.entries(changes))
    setAt(
      copy,
      path.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
      value ?? undefined,
    );
  return copy;
}

/** Leaves of a schema by path as in docs/configuration.md: `pools[].kubelet.podPidsLimit`, `tags` for a mapping. */
export function leavesOf(schema: JsonSchema, path = ""): readonly (readonly [path: string, schema: JsonSchema])[] {
  const { properties = {}, items, additionalProperties: values, anyOf = [] } = schema;
  const below = [
    ...Object.entries(properties).flatMap(([key, value]) => leavesOf(value, path === "" ? key : `${path}.${key}`)),
    ...(items === undefined ? [] : leavesOf(items, `${path}[]`)),
    ...(typeof values === "object" ? leavesOf(values, `${path}.*`) : []),
    ...anyOf.flatMap((each) => leavesOf(each, path)),
  ].filter(([name]) => name !== path && !/\.\*$|\[\]$/.test(name));
  return below.length > 0 ? below : [[path, schema]];
}
