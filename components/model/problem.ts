import { closestMatch } from "leven";

/** The program, a payload or the user's transforms are broken. The message is complete. */
export class ProgramFailure extends Error {}

/** Prefix of our keys in a stack file: the project's name. */
export const configPrefix = "fenestra:";

/** One mistake in a stack file, with all that the reader needs to fix it. */
export interface Problem {
  /** Where, as a path in the stack file: `config.fenestra:pools[1].name`. */
  readonly path: string;
  /** The value there; `undefined` when the key is missing. */
  readonly value: unknown;
  /** What is wrong, one sentence without a full stop. */
  readonly message: string;
  /** What is allowed there, in words. */
  readonly allowed: string;
  /** How to fix it, unless `allowed` already says so. */
  readonly remedy?: string;
}

/** A problem, in a message's order. */
export function problem(path: string, value: unknown, message: string, allowed: string, remedy?: string): Problem {
  return { path, value, message, allowed, ...(remedy !== undefined && { remedy }) };
}

/** The same, as a rule's whole result. */
export const refuse = (...parts: Parameters<typeof problem>): readonly Problem[] => [problem(...parts)];

/** Longest rendering of a value in a message, in characters. */
const longestValue = 80;

const secretName = /pass(word|phrase)?|secret|token|credential|private|(api|access|ssh)[-_]?key/i;

/** The same with its value, in a text of JSON or YAML that could not be read. */
const secretPair = new RegExp(`((?:${secretName.source})[\\w-]*\\\\?"?\\s*[:=]\\s*\\\\?"?)[^"\\\\,}\\s…]+`, "gi");

/** Keys within a value of which nothing is shown; those of headers are told one by one. */
const hidesPart = (key: string): boolean => secretName.test(key) || key === "headers";

/**
 * Path of a key or index below another path, as for `pulumi config set --path`: `labels["example.com/team"]`. Directly
 * below `config` it has the project's prefix.
 */
export function childPath(path: string, step: PropertyKey): string {
  if (typeof step === "number") return `${path}[${step}]`;
  const key = String(step);
  if (path === "config") return `config.${configPrefix}${key}`;
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}

/** Characters that look like nothing, or like a space. */
const unseen = /[\p{Cf}\p{Zl}\p{Zp}\p{Co}]|(?! )\p{Zs}/gu;

const codePoint = (character: string): string =>
  `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;

/** Tokens of known services and JWTs, by their beginnings, and fields of Azure's connection strings and signatures. */
const tokens =
  /\b((?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[a-z]|npm|hv[bs])[-_.]|(?:AKIA|ASIA)(?=[A-Z0-9]{16})|eyJ(?=[\w-]*\.)|(?:AccountKey|SharedAccessKey|sig)=)[\w.+/=%-]+/g;

/** What reads as letters that nobody has thought of: the text of a key. A digest says that it is one. */
function isRandom(word: string): boolean {
  if (/^[0-9a-f]{32,}$/i.test(word)) return true;
  // A path of words, as in an id of Azure.
  if (word.split(/[/_-]/).some((part) => part.length >= 6 && /^[A-Za-z]?[a-z]+([A-Z][a-z]+)*$/.test(part)))
    return false;
  const kinds = [...word].map((letter) => [/\d/, /[A-Z]/, /[a-z]/].findIndex((kind) => kind.test(letter)));
  const changes = kinds.filter((kind, index) => index > 0 && kind !== kinds[index - 1]).length;
  return [0, 1, 2].every((kind) => kinds.includes(kind)) && changes >= word.length / 3;
}

/** A text without logins in URLs and in headers, and without what looks like a token or a key. */
const withoutLogins = (text: string): string =>
  text
    .replaceAll(/\/\/[^/\s]*@/g, "//…@")
    .replaceAll(/\b(Bearer|Basic) +[^"\\\]]+/g, "$1 …")
    .replaceAll(tokens, "$1…")
    .replaceAll(/(?<!sha256:|\w)[\w+/-]{20,}={0,2}/g, (word) => (isRandom(word) ? "…" : word));

/** A login in a URL within a text of JSON: a mistyped password may have spaces, quotes and slashes. */
const loginInJson = /\/\/(?:(?:[^/"\\]|\\.)*|(?:[^/":\\]|\\.)+:(?:[^"\\]|\\.)*)@/g;

/** JSON without logins, private keys and what stands behind the name of a secret. */
const withoutSecrets = (json: string): string =>
  withoutLogins(json.replaceAll(loginInJson, "//…@"))
    .replaceAll(/(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^"]*/g, "$1…")
    .replaceAll(secretPair, "$1…");

/**
 * A value in a message: JSON, shortened, unseen characters by their numbers; a missing one in words. What reads as a
 * secret, also below a value, is never shown.
 */
export function showValue(value: unknown): string {
  if (value === undefined) return "nothing";
  const hidden = (key: string, part: unknown): unknown => (hidesPart(key) && part !== "" ? "…" : part);
  const text = withoutSecrets(JSON.stringify(value, hidden) ?? String(value)).replaceAll(
    unseen,
    (character) => `<${codePoint(character)}>`,
  );
  return text.length <= longestValue ? text : `${text.slice(0, longestValue - 1)}…`;
}

/** Keys above the last do not describe the value: `credentialSpecs[0].account` is an account's name. */
function lastKey(path: string): string {
  const item = path.replace(/(\[\d+\])+$/, "");
  return item.slice(item.lastIndexOf(item.endsWith('"]') ? '["' : "."));
}

/** Settings of which nothing is shown, not even under a mistyped key: logins, and headers but for their known fields. */
const secretSetting = /^config\.fenestra:(?:proxy|registry)Credentials\b|\.headers(?!\[\d+\]\.(?:name|key)$)/;

/** Whether the name of a key or its setting marks its value as a secret. */
export function hidesValue(path: string): boolean {
  return secretName.test(lastKey(path)) || secretSetting.test(path);
}

/** Settings with the name of a Secret that somebody makes. */
const namesSecret = /(?:\.smb\.shares|\.headers|\.credentialSpecs)\[\d+\]\.secret$/;

/** Where a name belongs, one without digits is shown: `shop/smb`. What has some may be the secret itself. */
const isName = ({ path, value }: Problem): boolean =>
  namesSecret.test(path) && typeof value === "string" && /^[a-z._/-]{1,63}$/i.test(value);

/** A problem as the lines shown to the user, without a secret's value. */
export function showProblem(problem: Problem): string {
  const secret = hidesValue(problem.path) && !isName(problem);
  const given = problem.remedy ?? (secret ? undefined : beyondAscii(problem.value));
  const remedy = secret && quotes(given, problem.value) ? undefined : given;
  const lines = [problem.message, problem.allowed, ...(remedy === undefined ? [] : [remedy])].map(withoutLogins);
  const [message, allowed, fix] = lines;
  return [
    `${problem.path}: ${message}`,
    `    found:   ${secret && problem.value !== undefined ? "not shown" : showValue(problem.value)}`,
    `    allowed: ${allowed}`,
    ...(fix === undefined ? [] : [`    fix:     ${fix}`]),
  ].join("\n");
}

/** Whether a text repeats a value. */
const quotes = (text: string | undefined, value: unknown): boolean =>
  typeof value !== "object" && text?.includes(String(value)) === true;

/** Letters of another alphabet and copied spaces look like those that are meant. */
function beyondAscii(value: unknown): string | undefined {
  const odd = typeof value === "string" ? [...new Set(value.match(/[^\p{ASCII}]/gu))].slice(0, 4) : [];
  return odd.length === 0 ? undefined : `type it anew: it has ${odd.map(codePoint).join(", ")}`;
}

/** Orders paths numerically: `pools[2]` before `pools[10]`; the fixed locale makes it the same on every machine. */
const collator = new Intl.Collator("en", { numeric: true });

/** Every problem of a stack file at once. Its message is complete: print it without the stack trace. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[];

  /** @param problems at least one; deduplicated and sorted by path. */
  constructor(problems: readonly Problem[]) {
    const unique = new Map(problems.map((problem) => [`${problem.path}\n${problem.message}`, problem]));
    const sorted = [...unique.values()].sort((a, b) => collator.compare(a.path, b.path));
    const count = sorted.length === 1 ? "1 problem" : `${sorted.length} problems`;
    super(`The stack configuration has ${count}:\n\n${sorted.map(showProblem).join("\n\n")}\n`);
    this.name = "ConfigError";
    this.problems = sorted;
  }
}

/** Most letters in which a mistyped name differs; beyond that suggestions are noise. */
const mostSlips = 2;

/**
 * "did you mean count?" for a name close to an allowed one; `undefined` when none is close or the name is too short.
 */
export function didYouMean(name: string, allowed: readonly string[]): string | undefined {
  const maxDistance = Math.min(mostSlips, Math.floor(name.length / 2));
  const near = maxDistance === 0 ? undefined : closestMatch(name, allowed, { maxDistance });
  return near === undefined ? undefined : `did you mean ${near}?`;
}
