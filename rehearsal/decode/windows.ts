import { createHash } from "node:crypto";
import { gunzipSync, inflateRawSync } from "node:zlib";
import { z } from "zod";
import { type DecodedFile, type DecodedUserData, UserDataError } from "./machine.ts";

/** The packed files by their path, in the order in which they are written. */
const archiveSchema = z.strictObject({ entry: z.string(), files: z.record(z.string(), z.string()) });

/** How the loader holds the archive: base64 between single quotes. */
const holder = /^\$p='([A-Za-z0-9+/]+={0,2})'$/gm;

/** Name of the file that says where the rest of the scripts lies. */
const secondStagePath = "C:\\fenestra\\scripts.json";

const secondStageSchema = z.strictObject({
  bucket: z.string(),
  key: z.string(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** An object of a simulated store by its bucket and key; `undefined` when there is none, or the machine may not read it. */
export type ObjectStore = (bucket: string, key: string) => Buffer | undefined;

/**
 * Reads a Windows machine's user data as its agent and the loader do: the script in `<powershell>` (EC2Launch v2), or the whole text
 * (Azure's CustomData.bin), then the base64 archive in it, as JSON. Where the archive names an object with the rest of the scripts, that is
 * fetched and held against its digest, as the machine does.
 *
 * @param objects the store that the machine would fetch from, by default an empty one.
 * @throws UserDataError when the machine could not read it.
 */
export function decodeWindows(userData: Buffer, objects: ObjectStore = () => undefined): DecodedUserData {
  const source = userData.toString("utf8");
  const script = /^<powershell>\n([\s\S]*?)^<\/powershell>/m.exec(source)?.[1] ?? source;
  const [packed, second] = [...script.matchAll(holder)].flatMap(([, text]) => text ?? []);
  if (packed === undefined) throw new UserDataError("its loader holds no archive");
  if (second !== undefined) throw new UserDataError("its loader holds more than one archive");
  const first = readArchive(Buffer.from(packed, "base64"));
  requireEntry(first);
  const rest = secondStage(first, objects);
  const files = { ...first.files, ...rest?.files };
  const entry = rest?.entry ?? first.entry;
  requireEntry({ entry, files });
  return {
    system: "windows",
    files: Object.entries(files).map(([path, content]): DecodedFile => ({ path, content, mode: undefined })),
    entry,
    commands: [[first.entry]],
    source,
  };
}

type Archive = z.output<typeof archiveSchema>;

function readArchive(bytes: Buffer): Archive {
  const parsed = archiveSchema.safeParse(parseJson(unpack(bytes)));
  if (!parsed.success) throw new UserDataError(z.prettifyError(parsed.error));
  return parsed.data;
}

function requireEntry({ entry, files }: Archive): void {
  if (files[entry] === undefined) throw new UserDataError(`the entry ${entry} is not one of its files`);
}

function secondStage({ files }: Archive, objects: ObjectStore): Archive | undefined {
  const text = files[secondStagePath];
  if (text === undefined) return undefined;
  const parsed = secondStageSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new UserDataError(`${secondStagePath}: ${z.prettifyError(parsed.error)}`);
  const { bucket, key, sha256 } = parsed.data;
  const bytes = objects(bucket, key);
  if (bytes === undefined) throw new UserDataError(`the object ${key} is not in the bucket ${bucket}`);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) throw new UserDataError(`the object ${key} has the digest ${found} in place of ${sha256}`);
  return readArchive(bytes);
}

function unpack(bytes: Buffer): string {
  try {
    const gzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return (gzip ? gunzipSync(bytes) : inflateRawSync(bytes)).toString("utf8");
  } catch (error) {
    throw new UserDataError("its archive is damaged", { cause: error });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserDataError("its archive is not JSON", { cause: error });
  }
}
