import { stringify } from "yaml";
import { gzip, isFetched, type ScriptsReference } from "../bundle.ts";
import type { MachinePayload, PayloadFile } from "../payload.ts";
import { stageFile } from "./common.ts";
import { envFile } from "./rootfs.ts";
import { scriptsStage, stageTablePath, withScriptsStage } from "./stages.ts";

/** Where a Linux machine on AWS finds bucket, key and SHA-256 of its scripts. */
const scriptsFile = "/etc/fenestra/scripts.env";

/** User data of a Linux machine: a gzipped `#cloud-config`, which cloud-init unpacks itself, in base64. */
export function packLinux(payload: MachinePayload): string {
  return gzip(cloudConfig(payload));
}

/**
 * The same on AWS, where scripts are in a bucket. The caller checks AWS's limit of 16,384 bytes.
 *
 * @param object what `scriptsObject` returned for the payload
 * @param bucket the one with the object, in the region of the machine
 */
export function packLinuxFetching(payload: MachinePayload, object: ScriptsReference, bucket: string): string {
  return packLinux(withFetchedScripts(payload, object, bucket));
}

/** A payload without the scripts in the bucket, with a first stage that fetches them. */
export function withFetchedScripts(
  payload: MachinePayload,
  { key, sha256 }: ScriptsReference,
  bucket: string,
): MachinePayload {
  const withStage = (file: PayloadFile): PayloadFile =>
    file.path === stageTablePath ? { ...file, content: withScriptsStage(file.content, sha256) } : file;
  return {
    ...payload,
    files: [
      ...payload.files.filter((file) => !isFetched(file)).map(withStage),
      stageFile(scriptsStage),
      { path: scriptsFile, content: envFile({ SCRIPTS_BUCKET: bucket, SCRIPTS_KEY: key, SCRIPTS_SHA256: sha256 }) },
    ],
  };
}

function cloudConfig(payload: MachinePayload): string {
  const document = {
    write_files: payload.files.map((file) => ({
      path: file.path,
      permissions: file.mode ?? "0644",
      content: file.content,
    })),
    // The bootstrap takes minutes and is retried by systemd: cloud-init does not wait for it.
    runcmd: [["systemctl", "enable", "--now", "--no-block", "fenestra-bootstrap.service"]],
  };
  return `#cloud-config\n${stringify(document, { lineWidth: 0 })}`;
}
