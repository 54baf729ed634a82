import { isMap, isScalar, isSeq, type Scalar } from "yaml";
import { childPath, type Problem } from "./problem.ts";

/**
 * A number as Pulumi reads it: the Go library takes YAML 1.1's forms too, and a leading zero for octal (go-yaml/yaml v3.0.1, resolve.go,
 * called by pulumi/pulumi sdk/go/common/resource/config/object.go).
 */
const goNumber = /^[-+]?(?:0[xX][\da-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)$/;

/** A date, with or without a time, which the Go library makes a time and Pulumi a longer text (resolve.go, `allowedTimestampFormats`). */
const goTime =
  /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))|(?: \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?))?$/;

/**
 * Problems of plain scalars below a part of a stack file that Pulumi would pass to the program as something else than they are read here.
 */
export function otherwiseRead(node: unknown, path: string): readonly Problem[] {
  if (isSeq(node)) return node.items.flatMap((item, index) => otherwiseRead(item, `${path}[${index}]`));
  if (isMap(node))
    return node.items.flatMap(({ key, value }) => {
      const name = String(isScalar(key) ? key.value : key);
      const at = path === "config" ? `config.${name}` : childPath(path, name);
      const rewritten = path === "config" && isScalar(value) && isRewritten(value);
      return [
        ...(isScalar(key) && differs(key) ? [problem(at, key)] : []),
        ...(rewritten ? [problem(at, value)] : otherwiseRead(value, at)),
      ];
    });
  return isScalar(node) && differs(node) ? [problem(path, node)] : [];
}

function differs({ type, tag, source = "", value }: Scalar): boolean {
  if (type !== "PLAIN" || tag !== undefined) return false;
  if (goTime.test(source)) return true;
  // It drops the underscores of what begins like a number (resolve.go, `resolveTable`).
  if (!/^[-+.\d]/.test(source)) return false;
  return goNumber.test(source.replaceAll("_", "")) && (typeof value !== "number" || /^[-+]?0\d/.test(source));
}

/** Whether it is a number or a truth value in another form than the text in which Pulumi passes it on. */
function isRewritten({ type, source, value }: Scalar): boolean {
  return type === "PLAIN" && (typeof value === "number" || typeof value === "boolean") && String(value) !== source;
}

function problem(path: string, { source }: Scalar): Problem {
  return {
    path,
    value: source,
    message: "must be quoted: Pulumi turns it into a number, a date or a boolean",
    allowed: "a text in quotes, true or false, or a number in its shortest decimal form",
    remedy: `for the text as it stands write ${JSON.stringify(source)}`,
  };
}
