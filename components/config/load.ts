import { z } from "zod";
import { type Artifact, readArtifactLock } from "../model/artifacts.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { fromJson } from "../model/json.ts";
import { ConfigError, childPath, configPrefix, didYouMean, type Problem, problem } from "../model/problem.ts";
import { selectableVersions } from "../model/releases.ts";
import { schemaOf } from "./cloudSchema.ts";
import { configJsonSchema, describeAllowed, type JsonSchema, propertyOf, schemaAt } from "./jsonSchema.ts";
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
    const read = readValue(own, text);
    if (read.problem === undefined) values.push([name, read.value]);
    else refuse(read.problem);
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
  const own = schemaOf(values.cloud).safeParse(readable);
  const parsed = stackSchema.safeParse(readable);
  const unread = new Set(earlier.map(({ path }) => path));
  const issues = own.error?.issues ?? [];
  const refused = merged(issues.flatMap((issue) => fromIssue(issue, values))).filter(({ path }) => !unread.has(path));
  const unknown = issues.flatMap(({ path, ...issue }) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key]) : [],
  );
  const foreign = unknown.filter((path) => ownerAt(path, values.cloud) !== undefined);
  const given = acceptedSettings(
    foreign.reduce(without, readable),
    earlier.map(({ path }) => path),
  );
  const problems = [...earlier, ...refused, ...rules.flatMap((check) => check(given, lock))].map(markedEncrypted);
  if (!own.success || !parsed.success || problems.length > 0) throw new ConfigError(problems);
  return parsed.data;
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

/** Keys of other projects are ignored, so a near miss of our prefix, or one without, would be dropped silently. */
function mistypedPrefix(key: string, text: string, all: Readonly<Record<string, string>>): readonly Problem[] {
  const own = configPrefix.slice(0, -1);
  const [namespace = "", ...rest] = key.split(":");
  const allowed = `${configPrefix} before a setting of Fenestra`;
  if (key === own && text.startsWith("{"))
    return [problem(`config.${key}`, text, "holds settings that nothing reads", allowed, `write ${own}: before each`)];
  const name = rest.length === 0 ? namespace : rest.join(":");
  const isOurs = rest.length === 0 ? settings.has(name) : (schema().required ?? []).includes(name);
  const without = isOurs && all[configPrefix + name] === undefined ? `write ${configPrefix}${name}` : undefined;
  const remedy = without ?? (rest.length === 0 ? undefined : didYouMean(namespace.toLowerCase(), [own]));
  if (remedy === undefined) return [];
  return [problem(`config.${key}`, text, "looks like a fenestra: key", allowed, remedy)];
}

const settings: ReadonlyMap<string, z.core.$ZodType> = new Map(Object.entries(stackSchema.shape));

function isText(setting: z.core.$ZodType): boolean {
  if (setting instanceof z.ZodOptional || setting instanceof z.ZodDefault) return isText(setting.unwrap());
  return setting instanceof z.ZodString || setting instanceof z.ZodStringFormat || setting instanceof z.ZodEnum;
}

function readValue(
  own: z.core.$ZodType | undefined,
  text: string,
): { value: unknown; problem?: undefined } | { problem: string } {
  if (own !== undefined && isText(own)) return { value: text };
  const value = fromJson(text);
  if (value !== undefined) return { value };
  // Bare text for a list, a mapping or a number: the schema would say the same of the parsed value.
  return own === undefined
    ? { value: text }
    : { problem: /^\s*[[{]/.test(text) ? "is not well-formed JSON" : wrongType };
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

function fromIssue(issue: z.core.$ZodIssue, values: Readonly<Record<string, unknown>>): readonly Problem[] {
  const mine = schema(values.cloud);
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => unknownKey([...issue.path, key], values, mine));
  const value = valueAt(values, issue.path);
  const here = schemaAt(mine, issue.path);
  const message = value === undefined ? "is missing" : messageOf(issue, value);
  return [
    problem(stackFilePath(issue.path), value, message, allowedAt(issue, mine), remedyOf(issue, here, value, message)),
  ];
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
  const instead = Object.hasOwn(removedSettings, setting) ? removedSettings[setting] : undefined;
  const owner = ownerAt(path, values.cloud);
  if (owner !== undefined)
    return refused(`is a setting of ${owner}`, `nothing: only ${owner} has it`, instead ?? "remove it");
  const [above, key] = [path.slice(0, -1), String(path.at(-1))];
  const prefix = above.length === 0 ? configPrefix : "";
  const known = Object.keys(schemaAt(mine, above)?.properties ?? {}).map((name) => prefix + name);
  const split = above.length === 0 ? withPath(key) : undefined;
  const remedy = split ?? instead ?? didYouMean(prefix + key, known) ?? "remove it or correct its spelling";
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
  const wanted =
    issue.code !== "invalid_type" ? [] : [describeAllowed({ type: kinds[issue.expected] ?? issue.expected })];
  return [...wanted, above.findLast((each) => each?.description !== undefined)?.description ?? ""].join(". ");
}

function remedyOf(
  issue: z.core.$ZodIssue,
  here: JsonSchema | undefined,
  value: unknown,
  message: string,
): string | undefined {
  const wanted = here?.type;
  const choices = (here?.enum ?? (issue.code === "invalid_value" ? issue.values : [])).map(String);
  if (choices.length > 0) return slipOf(value, choices);
  if (issue.path.join(".") === "kubernetes.version") return versionOf(value);
  if (wanted === "string" && (typeof value === "number" || typeof value === "boolean"))
    return new RegExp(here?.pattern ?? "").test(String(value)) ? `put it in quotes: "${value}"` : undefined;
  if (wanted === "object" && Array.isArray(value)) return "write a mapping, without the hyphens: NAME: VALUE";
  if (wanted === "object" && value === false)
    return here?.properties?.perHour === undefined ? "remove it" : "write { perHour: 0 }";
  if (wanted === "object" && value === true) return "write {} for its defaults, or its keys";
  if (wanted === "array" && typeof value === "object" && value !== null)
    return Array.isArray(value) ? undefined : "put a hyphen before each item";
  if (typeof value !== "string") return undefined;
  if (wanted === "array") return `put it in brackets: [${value}]`;
  if (wanted === "boolean" && /^(true|yes|on|false|no|off)$/i.test(value))
    return `without quotes: ${/^(true|yes|on)$/i.test(value)}`;
  const [, digits, unit = ""] = /^(\d+) ?([a-z%]*)$/i.exec(value) ?? [];
  if ((wanted === "integer" || wanted === "number") && digits !== undefined)
    return unit === "" ? `without quotes: ${Number(digits)}` : withoutUnit(Number(digits), unit, here?.description);
  return message.includes("CIDR") && /^\d+(\.\d+){3}$/.test(value) ? `a single address is ${value}/32` : undefined;
}

/** By the word for what a setting counts in, units that people write behind the number. */
const units: Readonly<Record<string, RegExp>> = {
  Percent: /^%$/,
  Minutes: /^m(in|inutes?)?$/i,
  Seconds: /^s(ec|econds?)?$/i,
  Hours: /^h(ours?)?$/i,
  Days: /^d(ays?)?$/i,
  GiB: /^g(i|b|ib)?$/i,
};

function withoutUnit(number: number, unit: string, description = ""): string {
  const counted = Object.entries(units).find(([word]) => new RegExp(`\\b${word}\\b`, "i").test(description));
  return counted?.[1].test(unit) ? `without its unit: ${number}` : "write a number without a unit";
}

/** Other products' words for a value. */
const aliases: Readonly<Record<string, string>> = { ubuntu: "linux", false: "none", off: "none", no: "none" };

/** The choice that a value means: by letters and digits alone, its beginning, another word for it, or a slip. */
function slipOf(value: unknown, choices: readonly string[]): string | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return undefined;
  const bare = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const written = String(value);
  if (choices.includes(written)) return `put it in quotes: "${written}"`;
  if (value === true) return `write ${choices.filter((choice) => choice !== "none").join(" or ")}`;
  const same = choices.find((choice) => bare(choice) === bare(written)) ?? aliases[written.toLowerCase()];
  if (same !== undefined && choices.includes(same)) return `write ${same}`;
  const begun = bare(written).length < 3 ? [] : choices.filter((choice) => bare(choice).startsWith(bare(written)));
  if (begun.length > 0) return `write ${begun.join(" or ")}`;
  return didYouMean(written.toLowerCase(), choices);
}

/** The releases that a slip of the version means; YAML reads 1.37 as a number. */
function versionOf(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  const written = String(value).replace(/^v/i, "");
  const known = selectableVersions(readArtifactLock());
  const meant = known.filter((version) => version === written || version.startsWith(`${written}.`));
  return meant.length === 0 ? undefined : `write ${meant.join(" or ")}`;
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

/** What goes unchanged into an argument of a resource, by the heading of its page. */
const recipe =
  (heading: string) =>
  (argument: string): string =>
    `set ${argument} by a transform: docs/transforms.md, "${heading}", has the lines`;
const speed = recipe("Speed of disks");
const bought = recipe("How machines are bought");
const networks = recipe("Networks");
const speedOfTemplate = (what: string): string => speed(`blockDeviceMappings[0].ebs.${what} of the launch template`);

/** What to do instead of a setting that went, or of a known tool, by its path without positions in lists. */
export const removedSettings: Readonly<Record<string, string>> = {
  "secretsEncryption.kmsKey":
    "remove it: keys of secretsEncryption are kept in the secret store of the cloud; docs/limits.md says why no key service encrypts Secrets",
  "addons.serviceMonitors":
    "remove it: examples/prometheus.yaml has the ServiceMonitors and the alerts, for kubectl apply",
  "addons.serviceMonitorLabels": "remove it: labels stand in your copy of examples/prometheus.yaml",
  "addons.autoscalerLimits": recipe("Limits of the autoscaler")(
    "--max-nodes-total=9 and others as arguments of the Deployment",
  ),
  "controlPlane.osDisk.iops": speedOfTemplate("iops"),
  "controlPlane.osDisk.throughput": speedOfTemplate("throughput"),
  "controlPlane.etcdDisk.type": speed("type of the volume, with its iops"),
  "controlPlane.etcdDisk.iops": speed("iops of the volume"),
  "controlPlane.etcdDisk.throughput": speed("throughput of the volume"),
  "pools.disk.iops": speedOfTemplate("iops"),
  "pools.disk.throughput": speedOfTemplate("throughput"),
  "pools.spotMaxPrice": bought("instanceMarketOptions, instancesDistribution or billingProfile"),
  "pools.hybridBenefit": bought('virtualMachineProfile.licenseType: "Windows_Server"'),
  "pools.capacityReservation": bought("capacityReservationSpecification or capacityReservation"),
  "pools.dedicatedHosts": bought("placement of the launch template, or hostGroup"),
  "pools.securityGroups": networks("networkInterfaces[0].securityGroups, or applicationSecurityGroups"),
  "network.vpc": "a network that is there goes to network.existing, with its id and subnets",
  "network.dns.searchDomain": networks("domainName of the DHCP options (AWS)"),
  nodePools: "name them in pools",
  nodeGroups: "name them in pools",
  "pools.min": "autoscale has min and max",
  "pools.max": "autoscale has min and max",
  "pools.diskSize": "it is diskGb, without a unit",
  "pools.instanceType": "it is size",
  "pools.vmSize": "it is size",
  "pools.replicas": "it is count",
  "pools.maxPods": "it is kubelet.maxPods",
};
