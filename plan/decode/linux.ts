import { gunzipSync } from "node:zlib";
import { parse, YAMLParseError } from "yaml";
import { z } from "zod";
import { type DecodedFile, type DecodedUserData, UserDataError } from "./machine.ts";
import { type Archive, fetchScripts, type ObjectStore } from "./scriptsObject.ts";

/** The first line by which cloud-init knows a cloud-config. */
const header = "#cloud-config";

/** Encodings of a file that cloud-init takes (cloud-init documentation, Write Files). */
const base64Encodings = ["b64", "base64"];
const gzipEncodings = ["gz", "gzip"];
const bothEncodings = ["gz+base64", "gzip+base64", "gz+b64", "gzip+b64"];

const cloudConfigSchema = z.looseObject({
  write_files: z
    .array(
      z.strictObject({
        path: z.string().startsWith("/"),
        content: z.union([z.string(), z.instanceof(Uint8Array)]).default(""),
        encoding: z.string().optional(),
        // An unquoted 0644 is a number in YAML 1.2, which cloud-init's YAML 1.1 reads as octal: only text is unambiguous.
        permissions: z
          .string()
          .regex(/^0?[0-7]{3,4}$/)
          .optional(),
        owner: z.string().optional(),
        append: z.boolean().optional(),
        defer: z.boolean().optional(),
      }),
    )
    .default([]),
  runcmd: z.array(z.union([z.string(), z.array(z.string())])).default([]),
});

/** Name of the file that says where the scripts are. */
const secondStagePath = "/etc/fenestra/scripts.env";

const gzipMagic = Buffer.from([0x1f, 0x8b]);

/**
 * Reads a Linux machine's user data as cloud-init does: gzip taken off when there is some, then a cloud-config whose files and commands are
 * taken as they are. Where they name an object with the scripts, that is fetched and checked against its digest, as the machine does.
 *
 * @param userData bytes after the base64 of the cloud's API.
 * @param objects the store that the machine would fetch from, by default an empty one.
 * @throws UserDataError when cloud-init would not take it.
 */
export function decodeLinux(userData: Buffer, objects: ObjectStore = () => undefined): DecodedUserData {
  const source = unzip(userData).toString("utf8");
  if (source.split("\n", 1)[0]?.trimEnd() !== header) throw new UserDataError(`its first line is not ${header}`);
  const config = parseConfig(source);
  const commands = config.runcmd.map((command) => (typeof command === "string" ? ["sh", "-c", command] : command));
  const files = config.write_files.map(
    (file): DecodedFile => ({ path: file.path, content: decodeContent(file.content, file.encoding), mode: file.permissions }),
  );
  const fetched = Object.entries(secondStage(files, objects)?.files ?? {}).map(
    ([path, content]): DecodedFile => ({ path, content, mode: "0755" }),
  );
  return {
    system: "linux",
    files: [...files, ...fetched],
    fetched: fetched.map(({ path }) => path),
    entry: entryOf(files, commands),
    commands,
    source,
  };
}

function secondStage(files: readonly DecodedFile[], objects: ObjectStore): Archive | undefined {
  const text = files.find(({ path }) => path === secondStagePath)?.content;
  if (text === undefined) return undefined;
  const value = (name: string): string | undefined => new RegExp(`^SCRIPTS_${name}=(\\S+)$`, "m").exec(text)?.[1];
  const reference = { bucket: value("BUCKET"), key: value("KEY"), sha256: value("SHA256") };
  return fetchScripts(secondStagePath, reference, objects);
}

function unzip(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, 2).equals(gzipMagic)) return bytes;
  try {
    return gunzipSync(bytes);
  } catch (error) {
    throw new UserDataError("its gzip is damaged", { cause: error });
  }
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

function decodeContent(content: string | Uint8Array, encoding: string | undefined): string {
  const bytes = typeof content === "string" ? Buffer.from(content, isBase64(encoding) ? "base64" : "utf8") : content;
  const plain = encoding !== undefined && [...gzipEncodings, ...bothEncodings].includes(encoding) ? unzip(Buffer.from(bytes)) : bytes;
  if (encoding !== undefined && ![...base64Encodings, ...gzipEncodings, ...bothEncodings, "text/plain"].includes(encoding))
    throw new UserDataError(`a file has the unknown encoding ${encoding}`);
  return Buffer.from(plain).toString("utf8");
}

function isBase64(encoding: string | undefined): boolean {
  return encoding !== undefined && [...base64Encodings, ...bothEncodings].includes(encoding);
}

/** The one written file that the commands start: as a word of a command, or by a systemd unit that they enable. */
function entryOf(files: readonly DecodedFile[], commands: readonly (readonly string[])[]): string {
  const words = commands.flatMap((command) => command.flatMap((word) => word.split(/\s+/)));
  const units = files.filter(({ path }) => words.some((word) => path === `/etc/systemd/system/${word}`));
  const started = units.flatMap(({ content }) => /^ExecStart=(.*)$/m.exec(content)?.[1]?.split(/\s+/) ?? []);
  const entry = files.find(({ path }) => words.includes(path) || started.includes(path));
  if (entry === undefined) throw new UserDataError("no command starts a file that it writes");
  return entry.path;
}
