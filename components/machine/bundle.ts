import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { MachinePayload, PayloadFile } from "./payload.ts";
import { stripComments } from "./stripComments.ts";

/*
 * AWS takes 16,384 bytes of user data, which do not hold all files of a machine. There most files lie in an object in S3: the scripts, and on
 * Windows the configuration too. User data holds the rest, the few scripts that fetch the object, and its bucket, key and SHA-256:
 *
 *   archive = JSON in UTF-8: {"entry": "<path>", "files": {"<path>": "<text>", ...}}, files in the order they are written
 *   object  = the gzip stream of the archive
 *
 * What only people read is left out of scripts and JSON files: comments, empty lines, in PowerShell also indentation.
 */

/** What user data itself must hold on AWS: what it takes to sign a request and to unpack its answer. */
const firstFiles: ReadonlySet<string> = new Set([
  ...["bootstrap.sh", "lib.sh", "cloud.sh"].map((name) => `/opt/fenestra/${name}`),
  ...["fetch.ps1", "lib.ps1", "task.ps1", "sigv4.ps1", "identity.ps1", "machine.json"].map(
    (name) => `C:\\fenestra\\${name}`,
  ),
]);

/** Folders of the bucket: the machines of one system may read no other's. */
export const scriptsFolders = { linux: "linux", windows: "windows" } as const;

/** Where the scripts of a machine lie in the bucket, and how it knows them. */
export interface ScriptsReference {
  /** Key in the bucket. It is made of the digest: other scripts are another object, and the old one stays until the update is through. */
  readonly key: string;
  /** SHA-256 of the object's bytes, hexadecimal. */
  readonly sha256: string;
}

/** The object in S3 with the files that user data has no room for. They hold no secret and no value of a single machine. */
export interface ScriptsObject extends ScriptsReference {
  /** The object's bytes in base64. */
  readonly contentBase64: string;
}

/**
 * Whether a machine on AWS fetches this file from the bucket. Of a Linux machine only scripts are fetched: other files of the control plane
 * hold values that are known only when other resources exist, and which objects there are must be known before.
 */
export function isFetched({ path }: PayloadFile): boolean {
  return !firstFiles.has(path) && (path.endsWith(".sh") || !path.startsWith("/"));
}

/** The files of a payload that its user data has no room for. Equal files give equal bytes. */
export function scriptsObject({ kind, files, entry }: MachinePayload): ScriptsObject {
  const bytes = gzip(archive(files.filter(isFetched), entry));
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const folder = scriptsFolders[kind === "windows" ? "windows" : "linux"];
  return { key: `${folder}/${sha256}.json.gz`, sha256, contentBase64: bytes.toString("base64") };
}

/** `scriptsObject` for the machines of one cluster: the same scripts are packed once. */
export function scriptsObjects(): typeof scriptsObject {
  const packed = new Map<string, ScriptsObject>();
  return (payload) => {
    const value = JSON.stringify([payload.kind, payload.entry, payload.files.filter(isFetched)]);
    const object = packed.get(value) ?? scriptsObject(payload);
    packed.set(value, object);
    return object;
  };
}

/** The archive of files, slimmed, before compression. */
export function archive(files: readonly PayloadFile[], entry: string): string {
  return JSON.stringify({ entry, files: Object.fromEntries(files.map((file) => [file.path, slim(file)])) });
}

/** The gzip stream. The byte of its header that names the packing system is set to "unknown" (RFC 1952), so that no build host shows. */
export function gzip(text: string): Buffer {
  const bytes = gzipSync(Buffer.from(text, "utf8"), { level: 9, memLevel: 9 });
  bytes[9] = 255;
  return bytes;
}

/** The text of a file without what only people read. */
export function slim({ path, content }: PayloadFile): string {
  if (path.endsWith(".sh")) return stripComments(content);
  if (path.endsWith(".ps1")) return slimScript(content);
  if (/\.(json|conflist)$/.test(path)) return JSON.stringify(JSON.parse(content));
  return content;
}

/**
 * A PowerShell script without whole-line comments, indentation and empty lines. No script may hold text in which these matter; a test looks.
 */
export function slimScript(script: string): string {
  return `${script
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .join("\n")}\n`;
}
