import { createHash } from "node:crypto";
import type { NodeSettings } from "../model/nodeSettings.ts";
import type { PayloadFile } from "../model/podNetwork.ts";
import type { PoolSpec } from "../model/pools.ts";
import { placeholders } from "./placeholders.ts";
import { windowsPaths } from "./windows/paths.ts";

export type { PayloadFile };

/** Everything that a machine receives: its files and its entry point. Contains no secret. */
export interface MachinePayload {
  readonly kind: "control-plane" | "linux" | "windows";
  /** Files in the order they are written; paths are unique. */
  readonly files: readonly PayloadFile[];
  /** Path of the file that starts the bootstrap; one of `files`. */
  readonly entry: string;
}

export interface WorkerPayload extends MachinePayload {
  /** Sixteen hexadecimal digits, the value of the node label `fenestra.dev/payload`. */
  readonly fingerprint: string;
}

/** Sixteen hexadecimal digits that change with the value. The order of object keys matters. */
export function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}

/**
 * Fills in the node label `fenestra.dev/payload`: the fingerprint of the payload and of all else that replaces the
 * pool's machines. So the label changes whenever the pool rolls.
 */
export function fingerprinted(
  payload: MachinePayload,
  { facts, tags, encryptionAtHost, iam }: Pick<NodeSettings, "facts" | "tags" | "encryptionAtHost" | "iam">,
  pool: PoolSpec,
): WorkerPayload {
  const { image, size, diskGb, spot, disk, onDemand, furtherSizes, instanceProfile } = pool;
  const ofPool = [image, size.name, diskGb, spot, disk, onDemand, furtherSizes, instanceProfile];
  const own = fingerprint([payload, ...ofPool, facts.tags.roll ? tags : undefined, encryptionAtHost, iam.rolePath]);
  const files = payload.files.map((file) => ({ ...file, content: file.content.replaceAll(placeholders.payload, own) }));
  return { ...payload, files, fingerprint: own };
}

/**
 * Folder of the certificates that a machine trusts besides the public ones; on Debian's systems update-ca-certificates
 * reads it.
 */
const trustFolder = { linux: "/usr/local/share/ca-certificates/", windows: "C:\\fenestra\\trust\\" } as const;

/** A file for each certificate: the systems' tools read one from a file. */
export function trustFiles(
  { certificateAuthorities }: Pick<NodeSettings, "certificateAuthorities">,
  os: "linux" | "windows",
): readonly PayloadFile[] {
  return certificateAuthorities.map((content, index) => ({
    path: `${trustFolder[os]}fenestra-${index + 1}.crt`,
    content,
  }));
}

/** Whether a file is one of them: they are in user data, since whatever is fetched may need them. */
export function isTrustFile({ path }: Pick<PayloadFile, "path">): boolean {
  return Object.values(trustFolder).some((folder) => path.startsWith(folder));
}

/*
 * Files with a login: the payload has templates with placeholders, of which the stage `credentials` writes the files at each boot, for root or
 * the system only.
 */

/** Where templates are; below it each has the path of its file, on Windows without the drive. */
const templates = { linux: "/etc/fenestra/templates", windows: `${windowsPaths.root}\\templates` } as const;

/** The files of a payload, those with a placeholder for a login as templates. */
export function withTemplates(os: "linux" | "windows", files: readonly PayloadFile[]): readonly PayloadFile[] {
  return files.map((file) => (needsLogin(file) ? { ...file, path: templatePath(os, file) } : file));
}

/** The files that a Windows machine makes of templates, with their templates. */
export function loginFiles(files: readonly PayloadFile[]) {
  return files.filter(needsLogin).map((file) => ({ template: templatePath("windows", file), path: file.path }));
}

function needsLogin({ content }: PayloadFile): boolean {
  return /@LOGIN_[0-9A-Z]+@/.test(content);
}

function templatePath(os: "linux" | "windows", { path }: PayloadFile): string {
  return templates[os] + path.replace(/^[A-Z]:/, "");
}

type UserScripts = Pick<PoolSpec, "timeZone" | "annotations" | "beforeJoin" | "afterJoin">;

/** Whether a stage of the user's own steps has something to do on a pool's machines. */
export function hasUserStage(pool: UserScripts, stage: "before" | "after"): boolean {
  return stage === "before"
    ? pool.timeZone !== undefined || pool.beforeJoin !== undefined
    : pool.afterJoin !== undefined || annotationPatch(pool) !== undefined;
}

/** The node's annotations, which its kubelet may write, for `kubectl patch --patch-file`, which takes any text. */
export function annotationPatch({ annotations }: Pick<UserScripts, "annotations">): string | undefined {
  return Object.keys(annotations).length === 0 ? undefined : `${JSON.stringify({ metadata: { annotations } })}\n`;
}

/** Files of the user's own steps. */
export function userFiles(
  pool: UserScripts,
  paths: Readonly<Record<"before" | "after" | "patch", string>>,
): readonly PayloadFile[] {
  return (["before", "after", "patch"] as const).flatMap((name): PayloadFile[] => {
    const content = { before: pool.beforeJoin, after: pool.afterJoin, patch: annotationPatch(pool) }[name];
    return content === undefined ? [] : [{ path: paths[name], content }];
  });
}
