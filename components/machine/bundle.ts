import { createHash } from "node:crypto";
import { gzip as deflate } from "pako";
import type { MachinePayload, PayloadFile } from "./payload.ts";

/*
 * AWS takes 16,384 bytes of user data, which do not hold all files of a machine. There most files lie in an object in S3: the scripts, and on
 * Windows the configuration too. User data holds the rest, the few scripts that fetch the object, and its bucket, key and SHA-256. The object
 * is an archive, not compressed, since there is room: JSON in UTF-8,
 *
 *   {"entry": "<path>", "files": {"<path>": "<text>", ...}}, files in the order they are written
 *
 * Nothing here may depend on the Node that runs the program, or another deployer's update would replace every machine.
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
  /** The object's text. */
  readonly content: string;
}

/**
 * Whether a machine on AWS fetches this file from the bucket. Of a Linux machine only scripts are fetched: other files of the control plane
 * hold values that are known only when other resources exist, and which objects there are must be known before.
 */
export function isFetched({ path }: PayloadFile): boolean {
  return !firstFiles.has(path) && (path.endsWith(".sh") || !path.startsWith("/"));
}

/** The files of a payload that its user data has no room for. */
export function scriptsObject({ kind, files, entry }: MachinePayload): ScriptsObject {
  const content = archive(files.filter(isFetched), entry);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const folder = scriptsFolders[kind === "windows" ? "windows" : "linux"];
  return { key: `${folder}/${sha256}.json`, sha256, content };
}

/** The archive of files. Spaces of JSON files, which only people read, are left out. */
export function archive(files: readonly PayloadFile[], entry: string): string {
  const compact = ({ path, content }: PayloadFile) =>
    /\.(json|conflist)$/.test(path) ? JSON.stringify(JSON.parse(content)) : content;
  return JSON.stringify({ entry, files: Object.fromEntries(files.map((file) => [file.path, compact(file)])) });
}

/**
 * The gzip stream of a text, in base64. The compressor is part of the program, because Node's zlib is Chromium's in official builds and the
 * system's in those of Debian, Homebrew or Nix, which give other bytes.
 */
export function gzip(text: string): string {
  return Buffer.from(deflate(text, { level: 9, memLevel: 9 })).toString("base64");
}
