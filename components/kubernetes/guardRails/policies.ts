import { readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";
import type { Manifest } from "../manifest.ts";

type Texts = Readonly<Record<string, string>>;

/** What files of policies leave open. */
export interface Blanks {
  /** CEL, which is put in parentheses; it may have placeholders itself. */
  readonly cel: Texts;
  /**
   * All else: in a text, a text as it is, and other values as JSON, which CEL reads; alone in a field, the value itself.
   * Of one that is false or undefined, what is marked `only` with its name falls away.
   */
  readonly values: Readonly<Record<string, unknown>>;
}

/** CEL that several policies use. */
export const sharedCel: Texts = parse(readFileSync(new URL("cel.yaml", import.meta.url), "utf8"));

/** CEL: the kind and the name of the object: whoever applies many sees which one is meant, and each of equal ones. */
const named = 'object.kind + " " + dyn(object).metadata.?name.orValue(dyn(object).metadata.?generateName.orValue(""))';

/**
 * A text with its placeholders filled: `${NAME}`, or `${NAME(PATH)}` for CEL in which `$` stands for that path.
 *
 * @param subject the path that `$` stands for. Default: there is none.
 * @throws RangeError when a placeholder has no value
 */
export function fill(template: string, blanks: Blanks, subject = ""): string {
  const { cel, values } = blanks;
  const pointer = subject.replace("object", "").replaceAll(".", "/");
  const text = template.replace(/\$(?=\/)/g, pointer).replace(/\$(?=[ .,[\]])/g, () => subject);
  return text.replace(/\$\{(\w+)(?:\(([^()]*)\))?\}/g, (placeholder, name: string, path: string = subject) => {
    if (cel[name] !== undefined) return `(${fill(cel[name], blanks, path)})`;
    const value = values[name];
    if (value === undefined) throw new RangeError(`nothing stands for ${placeholder}`);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/**
 * What is said of a pod: `{pod}` is the path of its spec in the object, `{x}` the text `variables.x`. Where the expression
 * fails, they are left out.
 */
function said(sentence: string): Texts {
  const parts = sentence.split(/\{(\w+)\}/);
  const all = parts.map((part, index) =>
    index % 2 === 0 ? JSON.stringify(part) : `variables.${part === "pod" ? "path" : part}`,
  );
  return {
    message: sentence.replaceAll("{pod}", "spec").replaceAll(/\{\w+\}/g, ""),
    messageExpression: [named, '": "', ...all].join(" + "),
  };
}

/** Parts of a YAML document as they are applied, from the innermost on. */
const applied =
  (blanks: Blanks) =>
  (_key: unknown, value: unknown): unknown => {
    if (typeof value === "string") {
      const [, name = ""] = /^\$\{(\w+)\}$/.exec(value) ?? [];
      return blanks.values[name] ?? fill(value, blanks);
    }
    // What falls away has left a hole; a list in a list is part of it.
    if (Array.isArray(value)) return value.flat();
    if (typeof value !== "object" || value === null) return value;
    const { only = undefined, says = undefined, ...fields }: Readonly<Record<string, unknown>> = { ...value };
    if (only !== undefined && !blanks.values[String(only)]) return undefined;
    return { ...fields, ...(says === undefined ? {} : said(String(says))) };
  };

/** Policies and their bindings, from a file of them as they are applied, after CEL of its own. */
export function readPolicies(file: URL, blanks: Blanks): readonly Manifest[] {
  const [first, ...others] = parseAllDocuments(readFileSync(file, "utf8"));
  const own: Texts = first?.has("apiVersion") ? {} : first?.toJS();
  const policies = first?.has("apiVersion") ? [first, ...others] : others;
  const reviver = applied({ ...blanks, cel: { ...own, ...blanks.cel } });
  return policies.flatMap((policy) => policy.toJS({ reviver }) ?? []);
}
