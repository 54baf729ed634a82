import { configPrefix, hidesValue } from "../../components/config/problem.ts";
import { fromJson } from "../../components/model/json.ts";

/** The stack file as it is, by its keys, so that a comparison can say what somebody changed in it; without what may be a secret. */
export function settingsOf(config: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const own = Object.entries(config).filter(([key]) => key.startsWith(configPrefix));
  return Object.fromEntries(own.map(([key, text]) => [key.slice(configPrefix.length), shown(opened(text), `config.${key}`)]));
}

function opened(text: string): unknown {
  return (/^\s*[[{]/.test(text) ? fromJson(text) : undefined) ?? text;
}

function shown(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item, index) => shown(item, `${path}[${index}]`));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shown(item, `${path}.${key}`)]));
  if (hidesValue(path)) return "not shown";
  return typeof value === "string" ? value.replaceAll(/\/\/[^/]*@/g, "//…@") : value;
}
