/** Prefix of our keys in a stack file: the project's name. */
export const configPrefix = "fenestra:";

/** One thing that is wrong in a stack file, told so that its reader can fix it without looking anywhere else. */
export interface Problem {
  /** Where, as a path in the stack file: `config.fenestra:pools[1].name`. */
  readonly path: string;
  /** The value found there; `undefined` when the key is missing. */
  readonly value: unknown;
  /** What is wrong, one sentence without a full stop. */
  readonly message: string;
  /** What is allowed there, in words. */
  readonly allowed: string;
  /** How to fix it, when `allowed` does not say it already. */
  readonly remedy?: string;
}

/** Longest rendering of a found value in a message, in characters. */
const longestValue = 80;

/** Names under which people keep what nobody else may read. */
const secretName = /pass(word|phrase)?|secret|token|credential|private|(api|access|ssh)[-_]?key/i;

/**
 * Path of a key or an index below another path, as `pulumi config set --path` spells it: `labels["example.com/team"]`. Directly below
 * `config` the project's prefix is added.
 */
export function childPath(path: string, step: PropertyKey): string {
  if (typeof step === "number") return `${path}[${step}]`;
  const key = String(step);
  if (path === "config") return `config.${configPrefix}${key}`;
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** A value as it is shown in a message: JSON, shortened; a missing one in words. Passwords in URLs are never shown. */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = (JSON.stringify(value) ?? String(value)).replaceAll(/\/\/[^/\s"]*@/g, "//…@");
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}

/** The key that a path ends with. What lies above it names no value: `credentialSpecs[0].account` is an account's name. */
function lastKey(path: string): string {
  const item = path.replace(/(\[\d+\])+$/, "");
  return item.slice(item.lastIndexOf(item.endsWith('"]') ? '["' : "."));
}

/** A problem as the lines that a user reads. The value is left out where the key's name says that it is a secret. */
export function showProblem(problem: Problem): string {
  const found =
    secretName.test(lastKey(problem.path)) && problem.value !== undefined ? "not shown" : showValue(problem.value);
  return [
    `${problem.path}: ${problem.message}`,
    `    found:   ${found}`,
    `    allowed: ${problem.allowed}`,
    ...(problem.remedy === undefined ? [] : [`    fix:     ${problem.remedy}`]),
  ].join("\n");
}

/** Orders paths as a reader counts: `pools[2]` before `pools[10]`. One fixed language, so that every machine gives the same text. */
const collator = new Intl.Collator("en", { numeric: true });

/** Every problem of a stack file at once. Its message is complete: a caller prints it without the stack trace. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  /** @param problems at least one; told once each, sorted by path, so that the same file gives the same text. */
  constructor(problems: readonly Problem[]) {
    const unique = new Map(problems.map((problem) => [`${problem.path}\n${problem.message}`, problem]));
    const sorted = [...unique.values()].sort((a, b) => collator.compare(a.path, b.path));
    const count = sorted.length === 1 ? "1 problem" : `${sorted.length} problems`;
    super(`The stack configuration has ${count}:\n\n${sorted.map(showProblem).join("\n\n")}\n`);
    this.name = "ConfigError";
    this.problems = sorted;
  }
}
