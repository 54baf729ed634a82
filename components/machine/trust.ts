import type { NodeSettings } from "../model/nodeSettings.ts";
import type { PayloadFile } from "./payload.ts";

/**
 * Folder of the certificates that a machine trusts besides the public ones. On Debian's systems update-ca-certificates
 * reads it.
 */
const trustFolder = { linux: "/usr/local/share/ca-certificates/", windows: "C:\\fenestra\\trust\\" } as const;

/** A file for each certificate: both systems' tools read one certificate from a file. */
export function trustFiles(
  { certificateAuthorities }: Pick<NodeSettings, "certificateAuthorities">,
  os: "linux" | "windows",
): readonly PayloadFile[] {
  return certificateAuthorities.map((content, index) => ({
    path: `${trustFolder[os]}fenestra-${index + 1}.crt`,
    content,
  }));
}

/**
 * Whether a file of a payload is one of them. They are in user data: whatever the machine fetches may already need
 * them.
 */
export function isTrustFile({ path }: Pick<PayloadFile, "path">): boolean {
  return Object.values(trustFolder).some((folder) => path.startsWith(folder));
}
