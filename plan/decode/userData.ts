import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { parse, YAMLParseError } from "yaml";
import { z } from "zod";
import { ProgramFailure } from "../../components/model/problem.ts";

export interface DecodedFile {
  readonly path: string;
  readonly content: string;
  /** POSIX mode, such as `0644`; Windows has none. */
  readonly mode: string | undefined;
}

export interface DecodedUserData {
  readonly system: "linux" | "windows";
  readonly files: readonly DecodedFile[];
  /** Paths of files that the machine fetches from a bucket at boot. */
  readonly fetched: readonly string[];
  readonly entry: string;
  /** Commands in their order; for Linux each as its arguments. */
  readonly commands: readonly (readonly string[])[];
  /** What the cloud's agent reads: the cloud-config, or the loader. */
  readonly source: string;
}

/** User data that its reader on the machine could not read either. */
class UserDataError extends ProgramFailure {
  constructor(message: string, options?: ErrorOptions) {
    super(`the user data is not what a machine can read: ${message}`, options);
    this.name = "UserDataError";
  }
}

/** @throws UserDataError without such a file */
export function fileContent(data: DecodedUserData, path: string): string {
  const found = data.files.find((file) => file.path === path);
  if (found === undefined) throw new UserDataError(`it has no file ${path}`);
  return found.content;
}

/** Where a machine fetches what its user data has no room for; `undefined` also for what it may not read. */
export type ObjectStore = (bucket: string, key: string) => Buffer | undefined;

/** The packed files by path, in the order of writing. */
const archiveSchema = z.strictObject({ entry: z.string(), files: z.record(z.string(), z.string()) });

type Archive = z.output<typeof archiveSchema>;

const referenceSchema = z.strictObject({
  bucket: z.string().min(3),
  key: z.string().min(1),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** Fetches an object and checks its digest, as the machine does. @throws UserDataError */
function fetchScripts(file: string, reference: unknown, objects: ObjectStore): Archive {
  const parsed = referenceSchema.safeParse(reference);
  if (!parsed.success) throw new UserDataError(`${file}: ${z.prettifyError(parsed.error)}`);
  const { bucket, key, sha256 } = parsed.data;
  const bytes = objects(bucket, key);
  if (bytes === undefined) throw new UserDataError(`the object ${key} is not in the bucket ${bucket}`);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) throw new UserDataError(`the object ${key} has the digest ${found} in place of ${sha256}`);
  return readArchive(bytes.toString("utf8"));
}

/** @throws UserDataError when it is damaged. */
function readArchive(text: string): Archive {
  const parsed = archiveSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new UserDataError(z.prettifyError(parsed.error));
  return parsed.data;
}

/** @throws UserDataError when it is damaged. */
function unpack(bytes: Buffer, what: string): string {
  try {
    return gunzipSync(bytes).toString("utf8");
  } catch (error) {
    throw new UserDataError(`its ${what} is damaged`, { cause: error });
  }
}

/** @throws UserDataError without JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserDataError("its archive is not JSON", { cause: error });
  }
}

/** Reads user data of either system: gzip or a cloud-config is Linux's. @throws UserDataError */
export function decodeUserData(userData: Buffer, objects?: ObjectStore): DecodedUserData {
  return isGzip(userData) || userData.subarray(0, 1).toString() === "#"
    ? decodeLinux(userData, objects)
    : decodeWindows(userData, objects);
}

const header = "#cloud-config";

const cloudConfigSchema = z.looseObject({
  write_files: z
    .array(
      z.strictObject({
        path: z.string().startsWith("/"),
        content: z.string().default(""),
        // An unquoted 0644 is a number in YAML 1.2, which cloud-init's YAML 1.1 reads as octal: only text is
        // unambiguous.
        permissions: z
          .string()
          .regex(/^0?[0-7]{3,4}$/)
          .optional(),
      }),
    )
    .default([]),
  runcmd: z.array(z.array(z.string())).default([]),
});

/** The file that says where the scripts are that user data has no room for. */
const linuxScripts = "/etc/fenestra/scripts.env";
const windowsScripts = "C:\\fenestra\\scripts.json";

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;

/**
 * Reads a Linux machine's user data as cloud-init does, and fetches the scripts that it refers to.
 *
 * @throws UserDataError when cloud-init would not take it.
 */
function decodeLinux(userData: Buffer, objects: ObjectStore = () => undefined): DecodedUserData {
  const source = isGzip(userData) ? unpack(userData, "gzip") : userData.toString("utf8");
  if (source.split("\n", 1)[0]?.trimEnd() !== header) throw new UserDataError(`its first line is not ${header}`);
  const config = parseConfig(source);
  const commands = config.runcmd;
  const files = config.write_files.map(
    ({ path, content, permissions }): DecodedFile => ({ path, content, mode: permissions }),
  );
  const text = files.find(({ path }) => path === linuxScripts)?.content;
  const scripts = text === undefined ? {} : fetchScripts(linuxScripts, referenceIn(text), objects).files;
  const fetched = Object.entries(scripts).map(([path, content]): DecodedFile => ({ path, content, mode: "0755" }));
  return {
    system: "linux",
    files: [...files, ...fetched],
    fetched: fetched.map(({ path }) => path),
    entry: entryOf(files, commands),
    commands,
    source,
  };
}

function referenceIn(text: string): unknown {
  const value = (name: string): string | undefined => new RegExp(`^SCRIPTS_${name}=(\\S+)$`, "m").exec(text)?.[1];
  return { bucket: value("BUCKET"), key: value("KEY"), sha256: value("SHA256") };
}

function parseConfig(source: string): z.output<typeof cloudConfigSchema> {
  try {
    const parsed = cloudConfigSchema.safeParse(parse(source));
    if (parsed.success) return parsed.data;
    throw new UserDataError(z.prettifyError(parsed.error));
  } catch (error) {
    if (error instanceof YAMLParseError) throw new UserDataError(error.message, { cause: error });
    throw error;
  }
}

/** The written file that a command starts: as one of its words, or by a systemd unit that it enables. */
function entryOf(files: readonly DecodedFile[], commands: readonly (readonly string[])[]): string {
  const words = commands.flat();
  const units = files.filter(({ path }) => words.some((word) => path === `/etc/systemd/system/${word}`));
  const started = units.flatMap(({ content }) => /^ExecStart=(.*)$/m.exec(content)?.[1]?.split(/\s+/) ?? []);
  const entry = files.find(({ path }) => words.includes(path) || started.includes(path));
  if (entry === undefined) throw new UserDataError("no command starts a file that it writes");
  return entry.path;
}

/** How the loader holds the archive: base64 between single quotes. */
const holder = /^\$p='([A-Za-z0-9+/]+={0,2})'$/gm;

/**
 * Reads a Windows machine's user data as its agent and the loader do: the script in `<powershell>` (EC2Launch v2) or
 * the whole text (Azure's CustomData.bin), and the archive in it.
 *
 * @throws UserDataError when the machine could not read it.
 */
export function decodeWindows(userData: Buffer, objects: ObjectStore = () => undefined): DecodedUserData {
  const source = userData.toString("utf8");
  const script = /^<powershell>\n([\s\S]*?)^<\/powershell>/m.exec(source)?.[1] ?? source;
  const [packed, second] = [...script.matchAll(holder)].flatMap(([, text]) => text ?? []);
  if (packed === undefined) throw new UserDataError("its loader holds no archive");
  if (second !== undefined) throw new UserDataError("its loader holds more than one archive");
  const first = readArchive(unpack(Buffer.from(packed, "base64"), "archive"));
  requireEntry(first);
  const text = first.files[windowsScripts];
  const rest = text === undefined ? undefined : fetchScripts(windowsScripts, parseJson(text), objects);
  const files = { ...first.files, ...rest?.files };
  const entry = rest?.entry ?? first.entry;
  requireEntry({ entry, files });
  return {
    system: "windows",
    files: Object.entries(files).map(([path, content]): DecodedFile => ({ path, content, mode: undefined })),
    entry,
    fetched: Object.keys(rest?.files ?? {}),
    commands: [[first.entry]],
    source,
  };
}

function requireEntry({ entry, files }: Archive): void {
  if (files[entry] === undefined) throw new UserDataError(`the entry ${entry} is not one of its files`);
}

/** Where Azure leaves the custom data of a Windows machine, not executed. */
const customData = "C:\\AzureData\\CustomData.bin";
/** Longest command line of cmd. */
const commandLimit = 8191;

/**
 * Reads the command of Azure's CustomScriptExtension as cmd would: it must copy the custom data to a name that
 * PowerShell takes, and run that.
 *
 * @throws UserDataError when the machine would never start its payload.
 */
export function startedScript(command: string | undefined): string {
  if (command === undefined)
    throw new UserDataError("no extension runs the custom data, which Windows never does itself");
  if (command.length > commandLimit)
    throw new UserDataError(`the extension's command has ${command.length} characters, cmd takes ${commandLimit}`);
  // Quotes, variables and characters beyond ASCII pass through cmd changed.
  if (!/^[ -~]+$/.test(command) || /["%^]/.test(command))
    throw new UserDataError("the extension's command holds characters that cmd changes");
  const [copy = "", run = "", ...more] = command.split(" && ");
  const [, source, target] = /^copy \/y (\S+) (\S+)$/i.exec(copy) ?? [];
  const [, script] = /^powershell(?:\.exe)? (?:-\S+ (?:\w+ )?)*-File (\S+)$/i.exec(run) ?? [];
  if (more.length > 0 || source === undefined || target === undefined || script === undefined)
    throw new UserDataError(`the extension's command is not a copy and a start of the custom data: ${command}`);
  if (source.toLowerCase() !== customData.toLowerCase())
    throw new UserDataError(`the extension copies ${source}; the custom data is ${customData}`);
  if (script.toLowerCase() !== target.toLowerCase())
    throw new UserDataError(`the extension copies the custom data to ${target} and runs ${script}`);
  if (!script.toLowerCase().endsWith(".ps1")) throw new UserDataError(`PowerShell runs no file named ${script}`);
  return script;
}
