import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import type { MachinePayload } from "./payload.ts";
import { stripComments } from "./stripComments.ts";

/** Position of the operating system in a gzip header (RFC 1952); 255 is "unknown". */
const gzipOsByte = 9;

/**
 * User data of a Linux machine: the base64 of a gzipped `#cloud-config`, which cloud-init unpacks by itself. The same payload always gives
 * the same bytes, since a changed one replaces machines. Comments of scripts stay behind.
 */
export function packLinux(payload: MachinePayload): string {
  const packed = gzipSync(cloudConfig(payload), { level: 9 });
  packed[gzipOsByte] = 255;
  return packed.toString("base64");
}

/** The `#cloud-config` before compression. */
export function cloudConfig(payload: MachinePayload): string {
  const document = {
    write_files: payload.files.map(({ path, content, mode }) => ({
      path,
      permissions: mode ?? "0644",
      content: path.endsWith(".sh") ? stripComments(content) : content,
    })),
    // The bootstrap goes on for minutes and begins again by itself: cloud-init does not wait for it.
    runcmd: [["systemctl", "enable", "--now", "--no-block", "fenestra-bootstrap.service"]],
  };
  return `#cloud-config\n${stringify(document, { lineWidth: 0 })}`;
}
