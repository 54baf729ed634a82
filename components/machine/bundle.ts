import { createHash } from "node:crypto";
import { gzip as deflate } from "pako";
import { patchesFolder } from "./linux/staticPodPatches.ts";
import { isTrustFile, type MachinePayload, type PayloadFile } from "./payload.ts";

/*
 * AWS limits user data to 16,384 bytes. There the scripts, and on Windows the configuration too, are in an S3 object; user data holds the rest,
 * the scripts that fetch the object, and its bucket, key and SHA-256. The object is an archive, JSON in UTF-8, not compressed:
 *
 *   {"entry": "<path>", "files": {"<path>": "<text>", ...}}, files in the order they are written
 *
 * Nothing here may depend on the Node.js build that runs the program, or another deployer's update would replace every machine.
 */

/** Scripts that must be in user data on AWS: those that sign a request and unpack its answer. */
const firstFiles: ReadonlySet<string> = new Set([
  "/opt/fenestra/stages/trust.sh",
  ...["bootstrap.sh", "lib.sh", "cloud.sh"].map((name) => `/opt/fenestra/${name}`),
  ...["fetch.ps1", "files.ps1", "task.ps1", "sigv4.ps1", "web.ps1", "machine.json"].map(
    (name) => `C:\\fenestra\\${name}`,
  ),
]);

/** Prefixes in the bucket: machines of one system cannot read another's. */
export const scriptsFolders = { linux: "linux", windows: "windows" } as const;

/** S3 location of a machine's scripts, and their digest. */
export interface ScriptsReference {
  /** Key in the bucket, made of the digest: the object of other scripts stays until the update is done. */
  readonly key: string;
  /** SHA-256 of the object's bytes, hexadecimal. */
  readonly sha256: string;
}

/** The S3 object with the files that do not fit into user data: nothing secret, nothing of one machine. */
export interface ScriptsObject extends ScriptsReference {
  readonly content: string;
}

/**
 * Whether a machine on AWS fetches this file from the bucket. On Linux only scripts, patches and bindings: other files
 * of the control plane contain outputs of resources, and the objects must be known before those.
 */
export function isFetched({ path }: PayloadFile): boolean {
  return (
    !firstFiles.has(path) &&
    !isTrustFile({ path }) &&
    (/\.(sh|py)$|^\/etc\/fenestra\/bindings\.yaml$/.test(path) ||
      path.startsWith(patchesFolder) ||
      !path.startsWith("/"))
  );
}

/** The files of a payload that do not fit into its user data. */
export function scriptsObject({ kind, files, entry }: MachinePayload): ScriptsObject {
  const content = archive(files.filter(isFetched), entry);
  const sha256 = createHash("sha256").update(content).digest("hex");
  return { key: `${scriptsFolders[kind === "windows" ? "windows" : "linux"]}/${sha256}.json`, sha256, content };
}

/** The archive of files. Whitespace of JSON files is dropped. */
export function archive(files: readonly PayloadFile[], entry: string): string {
  const compact = ({ path, content }: PayloadFile) =>
    /\.(json|conflist)$/.test(path) ? JSON.stringify(JSON.parse(content)) : content;
  return JSON.stringify({ entry, files: Object.fromEntries(files.map((file) => [file.path, compact(file)])) });
}

/**
 * The gzip stream of a text, in base64. Not by Node's zlib, which is Chromium's in official builds and the system's in
 * those of Debian, Homebrew or Nix: their output differs.
 */
export function gzip(text: string): string {
  return Buffer.from(deflate(text, { level: 9, memLevel: 9 })).toString("base64");
}
