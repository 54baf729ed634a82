import { stringify } from "yaml";
import { gzip, isFetched, type ScriptsReference } from "../bundle.ts";
import type { MachinePayload, PayloadFile } from "../payload.ts";
import { stageFile } from "./files.ts";
import { envFile } from "./shell.ts";
import { scriptsStage, scriptsStageLine, stageTablePath } from "./stages.ts";

/** Where a Linux machine on AWS finds bucket, key and SHA-256 of its scripts. */
const scriptsFile = "/etc/fenestra/scripts.env";

/**
 * User data of a Linux machine: the base64 of a gzipped `#cloud-config`, which cloud-init unpacks by itself. The same payload always gives
 * the same bytes, since a changed one replaces machines.
 */
export function packLinux(payload: MachinePayload): string {
  return gzip(cloudConfig(payload));
}

/**
 * User data of a Linux machine on AWS, whose scripts lie in a bucket: base64 as `packLinux` gives it. The limit of 16,384 bytes is AWS's; the
 * caller checks it.
 *
 * @param object what `scriptsObject` gives for the payload: the scripts that the machine fetches.
 * @param bucket where the object lies; it must be in the region of the machine.
 */
export function packLinuxAws(payload: MachinePayload, object: ScriptsReference, bucket: string): string {
  return packLinux(withFetchedScripts(payload, object, bucket));
}

/** A payload without the scripts that lie in the bucket, and with a stage before all others that brings them. */
export function withFetchedScripts(
  payload: MachinePayload,
  { key, sha256 }: ScriptsReference,
  bucket: string,
): MachinePayload {
  const withStage = (file: PayloadFile): PayloadFile =>
    file.path === stageTablePath ? { ...file, content: `${scriptsStageLine(sha256)}${file.content}` } : file;
  const reference = envFile({ SCRIPTS_BUCKET: bucket, SCRIPTS_KEY: key, SCRIPTS_SHA256: sha256 });
  return {
    ...payload,
    files: [
      ...payload.files.filter((file) => !isFetched(file)).map(withStage),
      stageFile(scriptsStage),
      { path: scriptsFile, content: reference },
    ],
  };
}

/** The `#cloud-config` before compression. */
function cloudConfig(payload: MachinePayload): string {
  const document = {
    write_files: payload.files.map((file) => ({
      path: file.path,
      permissions: file.mode ?? "0644",
      content: file.content,
    })),
    // The bootstrap goes on for minutes and begins again by itself: cloud-init does not wait for it.
    runcmd: [["systemctl", "enable", "--now", "--no-block", "fenestra-bootstrap.service"]],
  };
  return `#cloud-config\n${stringify(document, { lineWidth: 0 })}`;
}
