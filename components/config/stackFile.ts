import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import path, { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Pair,
  parse,
  parseDocument,
  type Scalar,
} from "yaml";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import { cloudNames } from "../model/cloudFacts/facts.ts";
import { fileProblem, isThere } from "../model/files.ts";
import { at } from "../model/json.ts";
import { ConfigError, childPath, configPrefix, didYouMean, type Problem, refuse } from "../model/problem.ts";

/** Folder of the program's own stack files, a user's in a clone. */
export const stacksFolder = new URL("../../stacks/", import.meta.url);

export function stackNames(folder: URL): readonly string[] {
  return readdirSync(folder)
    .flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? [])
    .sort();
}

/**
 * The config values of a stack file as Pulumi passes them to a program: scalars as bare text, structured values as JSON
 * text. Only Pulumi can decrypt an encrypted value (`secure:`): a fake takes its place, never its text.
 *
 * @param judge what else may be wrong, told with what Pulumi would read otherwise: `loadConfig`
 * @throws ConfigError when there is no such stack, the file is not YAML with a `config` mapping, or Pulumi would read a
 * value otherwise.
 */
export function readStackFile(stack: string, folder: URL, judge?: Judge): Readonly<Record<string, string>> {
  const names = stackNames(folder);
  const shown = shownFolder(folder);
  const at = `${shown}/Pulumi.${stack}.yaml`;
  if (!names.includes(stack)) {
    const allowed = names.length === 0 ? `a file of that name in the folder ${shown}` : `one of ${names.join(", ")}`;
    throw new ConfigError(refuse(at, stack, "there is no such stack file", allowed, didYouMean(stack, names)));
  }
  return parseStackFile(readText(new URL(`Pulumi.${stack}.yaml`, folder), at, stackForm), at, judge);
}

type Judge = (texts: Readonly<Record<string, string>>) => unknown;

function problemsOf(run: () => unknown): readonly Problem[] {
  try {
    run();
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Whether a stack's secrets are encrypted with a passphrase (pulumi/pulumi: sdk/go/common/workspace/project.go). */
export function hasPassphrase(stack: string, folder: URL): boolean {
  const text = readFileSync(new URL(`Pulumi.${stack}.yaml`, folder), "utf8");
  return /^(?:encryptionsalt:|secretsprovider: *["']?passphrase)/m.test(text);
}

/** A folder as shown in messages: relative to the working folder when inside it, else absolute. */
function shownFolder(folder: URL): string {
  const full = fileURLToPath(folder).replace(/\/$/, "");
  const inside = relative(process.cwd(), full);
  return inside.startsWith("..") ? full : inside;
}

const stackForm = "a Pulumi stack file: a mapping config: with keys such as fenestra:cloud";

function readText(file: URL, path: string, allowed: string): string {
  const unlike = (message: string) => new ConfigError(refuse(path, undefined, message, allowed));
  const problem = fileProblem(file);
  if (problem !== undefined) throw unlike(problem);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file));
  } catch (error) {
    // go-yaml refuses the whole file, comments included (yaml v3.0.1, readerc.go, `yaml_parser_update_buffer`).
    if (error instanceof TypeError) throw unlike("is not UTF-8: save it anew as that");
    if (!(error instanceof Error && "code" in error)) throw error;
    throw unlike(`cannot be read: ${error.code}`);
  }
}

/**
 * The config values in the text of a stack file, like `readStackFile`.
 *
 * @param path the file as shown in messages.
 * @throws ConfigError as that does, but for a missing stack.
 */
export function parseStackFile(text: string, path: string, judge?: Judge): Readonly<Record<string, string>> {
  const document = parseDocument(text, { merge: true, resolveKnownTags: false, logLevel: "error" });
  const error = document.errors[0];
  if (error !== undefined) throw notYaml(path, error.message);
  const config = document.get("config");
  if (!isMap(config)) throw new ConfigError(refuse(path, undefined, "has no mapping named config", stackForm));
  const cloud = config.get("fenestra:cloud");
  try {
    // An own key comes after what is merged.
    const pairs = [...new Map(pairsOf(config, document).map((pair) => [nameOf(pair), pair])).values()];
    const entries = pairs.map((pair) => {
      const [name, value] = [nameOf(pair), meant(pair.value, document)];
      // Pulumi passes it on as text, of null none; another than the one written here is refused below.
      if (isScalar(value) && value.source !== undefined)
        return [name, value.value === null ? "" : value.source] as const;
      const plain: unknown = isNode(pair.value) ? pair.value.toJS(document) : null;
      return [name, isEncrypted(plain) ? fakeOf(name, cloud, plain) : JSON.stringify(plain, withoutEncrypted)] as const;
    });
    const misread = pairs.flatMap((pair) => {
      const [at, value] = [`config.${nameOf(pair)}`, meant(pair.value, document)];
      return isScalar(value) && isRewritten(value) ? [problem(at, value)] : pairReadOtherwise(pair, at, document);
    });
    const texts = Object.fromEntries(entries);
    if (misread.length === 0) return texts;
    const others = problemsOf(() => judge?.(texts));
    throw new ConfigError([...misread, ...others.filter((each) => !misread.some(({ path: at }) => at === each.path))]);
  } catch (failure) {
    if (failure instanceof ConfigError || !(failure instanceof Error)) throw failure;
    // An alias without an anchor, one without end, or a merge of no mapping shows only when the value is built.
    throw notYaml(path, failure instanceof TypeError ? "an alias within what it stands for" : failure.message);
  }
}

const nameOf = ({ key }: Pair): string => String(isScalar(key) ? key.value : key);

/**
 * Pairs of a mapping, after those of what it merges with "<<": of a list the first counts, so it is last
 * (go-yaml/yaml v3.0.1, decode.go, `merge`).
 *
 * @throws TypeError for one that merges itself
 */
function pairsOf(given: unknown, document: Document.Parsed, within: readonly unknown[] = []): readonly Pair[] {
  const node = meant(given, document);
  if (within.includes(node)) throw new TypeError("a mapping merges itself");
  const inside = (each: unknown) => pairsOf(each, document, [...within, node]);
  if (isSeq(node)) return node.items.toReversed().flatMap(inside);
  if (!isMap(node)) throw new Error("Merge sources must be maps or map aliases");
  const { merged = [], own = [] } = Object.groupBy(node.items, ({ key }) =>
    isScalar(key) && key.source === "<<" ? "merged" : "own",
  );
  return [...merged.flatMap(({ value }) => inside(value)), ...own];
}

/** What stands in a place, where that is an alias what it stands for. */
const meant = (node: unknown, document: Document.Parsed): unknown => (isAlias(node) ? node.resolve(document) : node);

/** First line only: the rest is an excerpt of the file, secrets perhaps included. */
function notYaml(path: string, said: string): ConfigError {
  const [, reason = "", value] = /^(.*?)(?: at (line \d+, column \d+))?:?$/.exec(said.split("\n")[0] ?? "") ?? [];
  const allowed = "one YAML document, indented by spaces, each bracket closed, each key once";
  return new ConfigError(refuse(path, value, `is not valid YAML: ${reason.replace(/; please use .*/, "")}`, allowed));
}

/**
 * A number as Pulumi reads it: the Go library takes YAML 1.1's forms too, and a leading zero for octal (go-yaml/yaml
 * v3.0.1, resolve.go, called by pulumi/pulumi sdk/go/common/resource/config/object.go).
 */
const goNumber =
  /^[-+]?(?:0[xX][\da-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)$/;

/** No number in JSON, in which Pulumi passes it on. */
const noNumber = /^[-+]?\.(?:inf|nan)$/i;

/**
 * A date, with or without a time: a time for the Go library, and a longer text for Pulumi (resolve.go,
 * `allowedTimestampFormats`).
 */
const goTime =
  /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?(?:Z|[-+]\d\d:\d\d))|(?: \d{1,2}:\d{1,2}:\d{1,2}(?:\.\d+)?))?$/;

/** Plain scalars below a part of a stack file that Pulumi would pass to the program as something else. */
function readOtherwise(given: unknown, path: string, document: Document.Parsed): readonly Problem[] {
  const node = meant(given, document);
  if (isSeq(node)) return node.items.flatMap((item, index) => readOtherwise(item, `${path}[${index}]`, document));
  if (isMap(node))
    return node.items.flatMap((pair) => pairReadOtherwise(pair, childPath(path, nameOf(pair)), document));
  return isScalar(node) && differs(node) ? [problem(path, node)] : [];
}

function pairReadOtherwise({ key, value }: Pair, at: string, document: Document.Parsed): readonly Problem[] {
  const name = meant(key, document);
  const source = String(isScalar(name) ? name.source : name);
  return [...(isText(name) ? [] : [problem(at, { source })]), ...readOtherwise(value, at, document)];
}

/** Whether a key is the same text to both libraries: null is not, nor numbers but whole ones. */
const isText = (key: unknown): boolean =>
  isScalar(key) && !differs(key) && (/^[sb]/.test(typeof key.value) || Number.isSafeInteger(key.value));

function differs({ type, tag, source = "", value }: Scalar): boolean {
  if (tag !== undefined) return tag !== "tag:yaml.org,2002:str";
  if (type !== "PLAIN") return false;
  if (goTime.test(source) || noNumber.test(source)) return true;
  // It drops the underscores of what begins like a number (resolve.go, `resolveTable`).
  if (!/^[-+.\d]/.test(source)) return false;
  return goNumber.test(source.replaceAll("_", "")) && (typeof value !== "number" || /^[-+]?0\d/.test(source));
}

/** Whether it is a number or a boolean in another form than Pulumi passes it on. */
function isRewritten({ type, source, value }: Scalar): boolean {
  return type === "PLAIN" && (typeof value === "number" || typeof value === "boolean") && String(value) !== source;
}

function problem(path: string, { source = "" }: Pick<Scalar, "source">): Problem {
  const digits = /^0*(\d{1,6})$/.exec(source.replaceAll("_", ""))?.[1];
  return {
    path,
    value: source,
    message: "must be quoted: Pulumi turns it into a number, a date or a boolean",
    allowed: "a text in quotes, true or false, or a number in its shortest decimal form",
    remedy: `${digits === undefined ? "" : `for the number write ${digits}, `}for the text as it stands ${JSON.stringify(source)}`,
  };
}

/** What a plan has for a value that only Pulumi can decrypt (`secure:`), where there is no fake of the same form. */
export const encryptedText = "[secret]";

/** Where a fake has a digest of the encrypted text, so that another text is another value. */
const digestPlace = "DIGEST";

/** Fakes of settings that may well be encrypted. The host is reserved (RFC 2606, section 2). */
const fakes: Readonly<Record<string, string>> = {
  "fenestra:httpProxy": `http://secret-${digestPlace}.invalid:3128`,
  "fenestra:proxyCredentials": JSON.stringify({ username: encryptedText, password: encryptedText }),
};

/**
 * What a plan takes for an encrypted value, `{ secure: CIPHERTEXT }`: a fake of the same form, if there is one, so that
 * it is planned as present.
 */
function fakeOf(key: string, cloud: unknown, encrypted: unknown): string {
  const digest = createHash("sha256").update(JSON.stringify(encrypted)).digest("hex").slice(0, 8);
  return formOf(key, cloud).replace(digestPlace, digest);
}

function formOf(key: string, cloud: unknown): string {
  if (key === "fenestra:accountId")
    return cloudFacts[cloudNames.find((name) => name === cloud) ?? cloudNames[0]].account.fake;
  return (Object.hasOwn(fakes, key) ? fakes[key] : undefined) ?? encryptedText;
}

/** Whether it is `{ secure: CIPHERTEXT }`. */
function isEncrypted(value: unknown): boolean {
  return Object.keys(Object(value)).join() === "secure" && typeof at(value, "secure") === "string";
}

/** For JSON: a structured value with its encrypted parts replaced. */
const withoutEncrypted = (_key: string, value: unknown): unknown => (isEncrypted(value) ? encryptedText : value);

/** Keys of our config values that are or have fakes. */
export function encryptedKeys(config: Readonly<Record<string, string>>): readonly string[] {
  const isFake = (key: string, text: string) => {
    const form = text.replace(/(?<=^http:\/\/secret-)[0-9a-f]{8}(?=\.)/, digestPlace);
    return text.includes(encryptedText) || Object.keys(cloudFacts).some((cloud) => formOf(key, cloud) === form);
  };
  return Object.entries(config).flatMap(([key, text]) =>
    key.startsWith(configPrefix) && isFake(key, text) ? [key] : [],
  );
}

/** What a project file says, with absolute paths. */
interface ProjectFile {
  /** Folder of the program that Pulumi starts. */
  readonly program: string;
  readonly stacks: string;
}

/** Lock file of releases that a repository adds, beside its stack files. */
export const moreArtifacts = "artifacts.lock.json";

/** Module beside the stack files that exports transforms of resources. */
export const transformsFile = "transforms.ts";

/** Names that module, where a command was given a folder of stack files. */
export const transformsVariable = "FENESTRA_TRANSFORMS";

/** The project file of a folder; `undefined` if it has none. */
export function readProjectFile(folder: string): ProjectFile | undefined {
  const file = path.join(folder, "Pulumi.yaml");
  if (!isThere(file)) return undefined;
  let project: unknown;
  const text = readText(pathToFileURL(file), file, "a Pulumi project file: name, runtime and main");
  try {
    project = parse(text);
  } catch (failure) {
    throw notYaml(file, failure instanceof Error ? failure.message : String(failure));
  }
  const placeOf = (key: string) => {
    const value = at(project, key);
    return path.resolve(folder, typeof value === "string" ? value : ".");
  };
  const main = placeOf("main");
  const isFolder = existsSync(main) ? statSync(main).isDirectory() : path.extname(main) === "";
  return { program: real(isFolder ? main : path.dirname(main)), stacks: placeOf("stackConfigDir") };
}

/** A path without links, if it exists. */
function real(folder: string): string {
  return existsSync(folder) ? realpathSync(folder) : folder;
}
