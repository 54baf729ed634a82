import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import { UserDataError } from "./machine.ts";

/** An object of a simulated store by its bucket and key; `undefined` when there is none, or the machine may not read it. */
export type ObjectStore = (bucket: string, key: string) => Buffer | undefined;

/** The packed files by their path, in the order in which they are written. */
const archiveSchema = z.strictObject({ entry: z.string(), files: z.record(z.string(), z.string()) });

export type Archive = z.output<typeof archiveSchema>;

const referenceSchema = z.strictObject({ bucket: z.string().min(3), key: z.string().min(1), sha256: z.string().regex(/^[0-9a-f]{64}$/) });

/**
 * Fetches the scripts that user data has no room for, and holds them against their digest, as the machine does.
 *
 * @param file path of the file that names the object.
 * @param reference what it says.
 * @throws UserDataError when the machine could not go on.
 */
export function fetchScripts(file: string, reference: unknown, objects: ObjectStore): Archive {
  const parsed = referenceSchema.safeParse(reference);
  if (!parsed.success) throw new UserDataError(`${file}: ${z.prettifyError(parsed.error)}`);
  const { bucket, key, sha256 } = parsed.data;
  const bytes = objects(bucket, key);
  if (bytes === undefined) throw new UserDataError(`the object ${key} is not in the bucket ${bucket}`);
  const found = createHash("sha256").update(bytes).digest("hex");
  if (found !== sha256) throw new UserDataError(`the object ${key} has the digest ${found} in place of ${sha256}`);
  return readArchive(bytes.toString("utf8"));
}

/** Reads an archive. @throws UserDataError when it is damaged. */
export function readArchive(text: string): Archive {
  const parsed = archiveSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new UserDataError(z.prettifyError(parsed.error));
  return parsed.data;
}

/** What gzip has packed. @throws UserDataError when it is damaged. */
export function unpack(bytes: Buffer): string {
  try {
    return gunzipSync(bytes).toString("utf8");
  } catch (error) {
    throw new UserDataError("its archive is damaged", { cause: error });
  }
}

/** JSON out of user data. @throws UserDataError when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserDataError("its archive is not JSON", { cause: error });
  }
}
