import type { PayloadFile } from "../payload.ts";
import { readScript, withoutComments } from "../script.ts";

/** Path of the script that starts the bootstrap of a Linux machine. */
export const linuxEntry = "/opt/fenestra/bootstrap.sh";

/** A script from the folder beside this module, at its path on the machine. */
export function script(name: string, path = `/opt/fenestra/${name}`): PayloadFile {
  return { path, content: readScript(new URL(`scripts/${name}`, import.meta.url)), mode: "0755" };
}

/** A file of `rootfs`, at the same path on the machine, without its comments. */
export function rootFile(path: string): PayloadFile {
  return { path, content: withoutComments(new URL(`rootfs${path}`, import.meta.url)) };
}

/** Where units are. */
export const unitFolder = "/etc/systemd/system";

export function unitFile(name: string, content: string): PayloadFile {
  return { path: `${unitFolder}/${name}`, content };
}
