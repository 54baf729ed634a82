import type { NodeSettings } from "../model/nodeSettings.ts";
import type { PayloadFile } from "./payload.ts";

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
