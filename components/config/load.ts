import { z } from "zod";
import { type Artifact, readArtifactLock } from "../model/artifacts.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { fromJson } from "../model/json.ts";
import {
  ConfigError,
  childPath,
  configPrefix,
  didYouMean,
  hidesValue,
  type Problem,
  problem,
  showValue,
} from "../model/problem.ts";
import { selectableVersions } from "../model/releases.ts";
import { schemaOf } from "./cloudSchema.ts";
import { configJsonSchema, describeAllowed, type JsonSchema, propertyOf, schemaAt } from "./jsonSchema.ts";
import { cureOf, elsewhere, type Fits, insteadOf, remedyOf, versionOf } from "./remedies.ts";
import { addOnRules } from "./rules/addOns.ts";
import { existingNetworkRules } from "./rules/existingNetwork.ts";
import { flagRules } from "./rules/flags.ts";
import { credentialRules, identityRules, plainPasswords } from "./rules/identity.ts";
import { machineRules } from "./rules/machines.ts";
import { addressRules, networkRules } from "./rules/network.ts";
import { placementRules } from "./rules/placement.ts";
import { podNetworkRules } from "./rules/podNetworks.ts";
import { poolRules } from "./rules/pools.ts";
import { acceptedSettings } from "./rules/rule.ts";
import { stackRules } from "./rules/stack.ts";
import { type StackConfig, stackSchema } from "./schema.ts";
import { encryptedText } from "./stackFile.ts";

const encryptedMessage = "is encrypted, which only Pulumi can undo";
const encryptedRemedy = "write it as plain text: it is no secret";

const described = new Map<unknown, JsonSchema>();

/** The settings of a cloud in words, or of all, made for the first mistake only. */
function schema(cloud?: unknown): JsonSchema {
  const known = described.get(cloud) ?? configJsonSchema(schemaOf(cloud));
  described.set(cloud, known);
  return known;
}

/** Path of a config key as written in the stack file: `config.fenestra:pools[1].name`. */
function stackFilePath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(childPath, "config");
}

/**
 * The validated config of a stack.
 *
 * @param all config values as Pulumi passes them: structured ones as JSON text, others as bare text
 * @param isEncrypted whether a key's value is encrypted in the stack file, where Pulumi has decrypted it. Default no.
 * @throws ConfigError with every problem at once.
 */
export function loadConfig(
  all: Readonly<Record<string, string>>,
  lock: readonly Artifact[] = readArtifactLock(),
  isEncrypted: (key: string) => boolean = () => false,
): StackConfig {
  const problems: Problem[] = [];
  const values: [string, unknown][] = [];
  for (const [key, text] of Object.entries(all)) {
    if (!key.startsWith(configPrefix)) {
      problems.push(...mistypedPrefix(key, text, all));
      continue;
    }
    const name = key.slice(configPrefix.length);
    const own = settings.get(name);
    const refuse = (message: string, remedy?: string) =>
      problems.push(problem(stackFilePath([name]), text, message, describeAllowed(propertyOf(schema(), name)), remedy));
    if (text === encryptedText && own !== undefined) {
      const remedy =
        name === "registryCredentials"
          ? "encrypt each password and not the whole: the hosts decide what the program makes"
          : encryptedRemedy;
      refuse(encryptedMessage, remedy);
      continue;
    }
    const value = readValue(own, text);
    if (value === undefined) refuse("is not well-formed JSON");
    else values.push([name, value]);
  }
  // fromEntries creates own properties only, even for a key called __proto__.
  const plain = Object.fromEntries(values);
  problems.push(...plainPasswords(plain, (name) => isEncrypted(configPrefix + name)));
  return validate(plain, lock, problems);
}

/**
 * The validated config from plain values, keys without the project's prefix. Cross-field rules run even when the schema
 * refused something, unless they read it: a user fixes the file once, not in rounds.
 *
 * @param earlier problems of values that could not even be read.
 * @throws ConfigError like `loadConfig`.
 */
export function validate(
  values: Readonly<Record<string, unknown>>,
  lock: readonly Artifact[],
  earlier: readonly Problem[] = [],
): StackConfig {
  const readable = withPlainLengths(values);
  const mine = schemaOf(values.cloud);
  const own = mine.safeParse(readable);
  const parsed = stackSchema.safeParse(readable);
  const unread = new Set(earlier.map(({ path }) => path));
  const issues = own.error?.issues ?? [];
  const refused = merged(issues.flatMap((issue) => fromIssue(issue, values, lock))).filter(
    ({ path }) => !unread.has(path),
  );
  const unknown = issues.flatMap(({ path, ...issue }) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key]) : [],
  );
  const foreign = unknown.filter((path) => ownerAt(path, values.cloud) !== undefined);
  const entries = issues.flatMap(({ path }) => {
    const holder = path.findIndex((_, length) => isOfTexts(partAt(mine, path.slice(0, length).map(String))));
    return holder < 0 ? [] : [path.slice(0, holder + 1)];
  });
  const given = acceptedSettings(
    [...foreign, ...entries].reduce(without, readable),
    earlier.map(({ path }) => path),
  );
  const cured = [...refused, ...rules.flatMap((check) => check(given, lock))].map((found) => {
    const remedy = found.remedy ?? (isShown(found) ? cureOf(found.value, fitsAt(found, values, lock)) : undefined);
    return remedy === undefined ? found : { ...found, remedy };
  });
  const problems = [...earlier, ...cured].map(markedEncrypted);
  if (!own.success || !parsed.success || problems.length > 0) throw new ConfigError(problems);
  return parsed.data;
}

/** Whether a text is no secret and has none: what it may have been meant as would tell it. */
const isShown = ({ path, value }: Problem): boolean =>
  typeof value !== "string" || (!hidesValue(path) && showValue(value) === JSON.stringify(value));

/** Whether a value could stand at a problem's path, by schema and rules; no, where that has another one than it says. */
function fitsAt({ path, value }: Problem, values: object, lock: readonly Artifact[]): Fits {
  const steps = [
    ...path.replace(`config.${configPrefix}`, "").matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[]+)/g),
  ];
  const keys = steps.map(([, index, quoted = "", name]) => index ?? name ?? String(fromJson(quoted)));
  if (valueAt(values, keys) !== value) return () => false;
  const whole = schemaOf(valueAt(values, ["cloud"]));
  const part = partAt(whole, keys);
  const isHere = (found: string) => found.startsWith(path) && /^($|[.[])/.test(found.slice(path.length));
  return (candidate) => {
    if (part !== undefined && !z.safeParse(part, candidate).success) return false;
    const changed = structuredClone(values);
    Reflect.set(Object(valueAt(changed, keys.slice(0, -1))), keys.at(-1) ?? "", candidate);
    const readable = withPlainLengths(changed);
    const issues = part === undefined ? (whole.safeParse(readable).error?.issues ?? []) : [];
    if (issues.some((issue) => isHere(stackFilePath(issue.path)))) return false;
    const given = acceptedSettings(readable);
    return !rules.some((check) => check(given, lock).some((found) => isHere(found.path)));
  };
}

/** Whether each value of a schema's stands for itself: without a refused one the others can be judged. */
const isOfTexts = (part: z.core.$ZodType | undefined): boolean =>
  part instanceof z.ZodPipe || (part instanceof z.ZodRecord && part.valueType instanceof z.ZodString);

/** The schema of a setting by its keys; `undefined` where it is that of another program's object. */
function partAt(schema: z.core.$ZodType | undefined, keys: readonly string[]): z.core.$ZodType | undefined {
  const [key, ...below] = keys;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return partAt(schema.unwrap(), keys);
  if (key === undefined) return schema;
  if (schema instanceof z.ZodObject) return partAt(schema.shape[key], below);
  if (schema instanceof z.ZodArray) return partAt(schema.element, below);
  return schema instanceof z.ZodRecord ? partAt(schema.valueType, below) : undefined;
}

/**
 * The values without any mapping called `length`: zod (4.6, core/checks.ts) compares the length even of values whose
 * type it has refused, and a comparison with a mapping may throw. No setting has that name, so 1 is refused like the
 * mapping.
 */
function withPlainLengths<T>(values: T): T {
  return JSON.parse(JSON.stringify(values), (key, value) =>
    key === "length" && typeof value === "object" && value !== null ? 1 : value,
  );
}

const rules = [
  ...[stackRules, identityRules, addressRules, podNetworkRules, networkRules, existingNetworkRules],
  ...[credentialRules, machineRules, placementRules, poolRules, flagRules, addOnRules],
].flatMap((each) => Object.values(each));

/**
 * Keys of other projects are ignored, so a near miss of our prefix would be dropped silently. One without a prefix is
 * ours to Pulumi (pulumi/pulumi: sdk/go/common/workspace/loaders.go, `stackConfigNamespacedWithProject`), which takes
 * either of two.
 */
function mistypedPrefix(key: string, text: string, all: Readonly<Record<string, string>>): readonly Problem[] {
  const own = configPrefix.slice(0, -1);
  const [namespace = "", ...rest] = key.split(":");
  const refused = (message: string, remedy: string) => [
    problem(`config.${key}`, text, message, `${configPrefix} before a setting of Fenestra`, remedy),
  ];
  if (key === own && text.startsWith("{"))
    return refused("holds settings that nothing reads", `write ${own}: before each`);
  const name = rest.length === 0 ? namespace : rest.join(":");
  const isThere = all[configPrefix + name] !== undefined;
  if (rest.length === 0)
    return refused(
      `is ${configPrefix}${name} to Pulumi${isThere ? ", which is there too, and either counts" : ""}`,
      isThere || !settings.has(name) ? "remove it" : `write ${configPrefix}${name}`,
    );
  const without = (schema().required ?? []).includes(name) && !isThere ? `write ${configPrefix}${name}` : undefined;
  const remedy = without ?? didYouMean(namespace.toLowerCase(), [own]);
  return remedy === undefined ? [] : refused("looks like a fenestra: key", remedy);
}

const settings: ReadonlyMap<string, z.core.$ZodType> = new Map(Object.entries(stackSchema.shape));

function isText(setting: z.core.$ZodType): boolean {
  if (setting instanceof z.ZodOptional || setting instanceof z.ZodDefault) return isText(setting.unwrap());
  return setting instanceof z.ZodString || setting instanceof z.ZodStringFormat || setting instanceof z.ZodEnum;
}

/** A value from Pulumi's text; `undefined` where that begins like JSON and is none. */
function readValue(own: z.core.$ZodType | undefined, text: string): unknown {
  if (own !== undefined && isText(own)) return text;
  // The schema refuses bare text for a list, a mapping or a number.
  const value = fromJson(text);
  return value !== undefined || (own !== undefined && /^\s*[[{]/.test(text)) ? value : text;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, step) => {
    if (typeof value !== "object" || value === null) return undefined;
    return Object.entries(value).find(([key]) => key === String(step))?.[1];
  }, root);
}

/** One problem per path: several schema issues on one value become one sentence. */
function merged(problems: readonly Problem[]): readonly Problem[] {
  const byPath = new Map<string, Problem>();
  for (const problem of problems) {
    const before = byPath.get(problem.path);
    // Further complaints about a value of the wrong type say nothing.
    if (before?.message === wrongType) continue;
    if (before?.message === problem.message) continue;
    const message = before === undefined ? problem.message : `${before.message} and ${problem.message}`;
    byPath.set(problem.path, { ...problem, message });
  }
  return [...byPath.values()];
}

/** Title of the other cloud that has a key at a path; a mapping has any, and its keys are judged by their names. */
function ownerAt(path: readonly PropertyKey[], own: unknown): string | undefined {
  const hasKey = (cloud: string) =>
    Object.hasOwn(schemaAt(schema(cloud), path.slice(0, -1))?.properties ?? {}, String(path.at(-1)));
  return Object.values(cloudFacts).find(({ name }) => name !== own && hasKey(name))?.words.title;
}

function without<T>(values: T, path: readonly PropertyKey[]): T {
  const copy = structuredClone(values);
  const holder = valueAt(copy, path.slice(0, -1));
  if (typeof holder === "object" && holder !== null) Reflect.deleteProperty(holder, path.at(-1) ?? "");
  return copy;
}

function fromIssue(
  issue: z.core.$ZodIssue,
  values: Readonly<Record<string, unknown>>,
  lock: readonly Artifact[],
): readonly Problem[] {
  const mine = schema(values.cloud);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey([...issue.path, key], values, mine));
  const value = valueAt(values, issue.path);
  const here = schemaAt(mine, issue.path);
  const message = value === undefined ? "is missing" : messageOf(issue, value);
  const found = problem(stackFilePath(issue.path), value, message, allowedAt(issue, mine));
  const choices = (here?.enum ?? (issue.code === "invalid_value" ? issue.values : [])).map(String);
  const remedy =
    issue.path.join(".") === "kubernetes.version"
      ? versionOf(value, selectableVersions(lock))
      : remedyOf(here, value, choices, fitsAt(found, values, lock));
  return [remedy === undefined ? found : { ...found, remedy }];
}

/** A key that the stack's cloud does not have: another cloud's, one that went, or a slip. */
function unknownKey(
  path: readonly PropertyKey[],
  values: Readonly<Record<string, unknown>>,
  mine: JsonSchema,
): Problem {
  const refused = (message: string, allowed: string, remedy: string): Problem =>
    problem(stackFilePath(path), valueAt(values, path), message, allowed, remedy);
  const setting = path.filter((step) => typeof step === "string").join(".");
  const instead = Object.hasOwn(insteadOf, setting) ? insteadOf[setting] : undefined;
  const owner = ownerAt(path, values.cloud);
  if (owner !== undefined)
    return refused(`is a setting of ${owner}`, `nothing: only ${owner} has it`, instead ?? "remove it");
  const [above, key] = [path.slice(0, -1), String(path.at(-1))];
  const prefix = above.length === 0 ? configPrefix : "";
  const known = Object.keys(schemaAt(mine, above)?.properties ?? {}).map((name) => prefix + name);
  const split = above.length === 0 ? withPath(key) : undefined;
  const near = didYouMean(prefix + key, known) ?? elsewhere(key, mine);
  const remedy = split ?? instead ?? near ?? "remove it or correct its spelling";
  const allowed = known.length > 0 ? `one of ${known.join(", ")}` : describeAllowed(schemaAt(mine, above));
  return refused("is not a key that Fenestra knows", allowed, remedy);
}

/** JSON Schema's names of what zod calls otherwise. */
const kinds: Readonly<Record<string, string>> = { int: "integer", record: "object" };

/** What is allowed; within an object of another program's kind, of which editors' schema is one word, what it is. */
function allowedAt(issue: z.core.$ZodIssue, mine: JsonSchema): string {
  if (issue.code === "invalid_key") return "a key that is not empty";
  const above = issue.path.map((_, index) => schemaAt(mine, issue.path.slice(0, index + 1)));
  const here = above.at(-1);
  if (here !== undefined && Object.keys(here).length > 0) return describeAllowed(here);
  if (issue.code === "invalid_value") return issue.values.map(String).join(", ");
  const bound = issue.code === "too_big" ? issue.maximum : issue.code === "too_small" ? issue.minimum : undefined;
  const wanted =
    issue.code === "invalid_type"
      ? [describeAllowed({ type: kinds[issue.expected] ?? issue.expected })]
      : bound === undefined
        ? []
        : [`at ${issue.code === "too_big" ? "most" : "least"} ${bound}`];
  return [...wanted, above.findLast((each) => each?.description !== undefined)?.description ?? ""].join(". ");
}

/** `pulumi config set` takes dots for a part of the name, unless told that they are a path. */
function withPath(key: string): string | undefined {
  const own = configPrefix + key;
  return /[.[]/.test(key) && settings.has(key.split(/[.[]/)[0] ?? "")
    ? `pulumi config rm '${own}', then pulumi config set --path '${own}' VALUE`
    : undefined;
}

/** A plan has a mark in place of what is encrypted. */
function markedEncrypted(found: Problem): Problem {
  if (found.value !== encryptedText) return found;
  return { ...found, message: encryptedMessage, remedy: encryptedRemedy };
}

const wrongType = "has the wrong type";

function messageOf(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.expected === "int" && typeof value === "number" ? "is not a whole number" : wrongType;
    case "too_small":
      return value === "" ? "is empty" : (tooFew[issue.origin] ?? "is too small");
    case "too_big":
      return tooMany[issue.origin] ?? "is too large";
    case "invalid_value":
    case "invalid_union":
      return "is not an allowed value";
    case "invalid_format":
      return issue.format === "regex"
        ? issue.message
        : `is not a valid ${issue.format === "url" ? "URL" : issue.format}`;
    case "invalid_key":
      return "is not an allowed key";
    default:
      return "is not allowed";
  }
}

const tooFew: Readonly<Record<string, string>> = { string: "is too short", array: "has too few items" };
const tooMany: Readonly<Record<string, string>> = { string: "is too long", array: "has too many items" };
