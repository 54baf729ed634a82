import { configJsonSchema, type JsonSchema } from "../../components/config/jsonSchema.ts";
import { fromJson } from "../../components/model/json.ts";
import { leavesOf } from "../support/leaves.ts";

const parsed = (text: string): unknown => {
  const value = fromJson(text);
  return value === undefined ? text : value;
};

/** Plain values, keys without the project's prefix. */
export const plainConfig = (config: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(config).map(([key, text]) => [key.replace(/^fenestra:/, ""), parsed(text)]));

export const leaves: readonly (readonly [path: string, schema: JsonSchema])[] = leavesOf(configJsonSchema());

const forms = leaves.map(([leaf]) => ({
  leaf,
  form: new RegExp(`^${leaf.replaceAll(".", "\\.").replaceAll("[]", "\\[\\d+\\]").replaceAll("*", ".+?")}$`),
}));

export function differing(old: unknown, now: unknown, at = ""): readonly string[] {
  if (JSON.stringify(old) === JSON.stringify(now)) return [];
  const own = forms.find(({ form }) => form.test(at))?.leaf;
  if (own !== undefined) return [own];
  const step = (key: string): string =>
    Array.isArray(old ?? now) ? `${at}[${key}]` : at === "" ? key : `${at}.${key}`;
  return [...new Set([old, now].flatMap((value) => Object.keys(Object(value))))].flatMap((key) =>
    differing(Reflect.get(Object(old), key), Reflect.get(Object(now), key), step(key)),
  );
}
