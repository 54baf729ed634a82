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

/** A word that bash reads back as exactly this text. Throws on a NUL byte, which no shell variable can hold. */
export function shellQuote(text: string): string {
  if (text.includes("\0")) throw new RangeError("a shell word cannot hold a NUL byte");
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Variables as a file that bash sources, one assignment per line in the given order. Names are upper case. */
export function envFile(variables: Readonly<Record<string, string | number>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!/^[A-Z][A-Z0-9_]*$/.test(name)) throw new RangeError(`${name} is not the name of a variable`);
      return `${name}=${shellQuote(String(value))}\n`;
    })
    .join("");
}

/**
 * Rows as tab-separated lines. Throws on a field that is empty or contains a tab or newline, which bash reads wrongly.
 */
export function tsvFile(rows: readonly (readonly string[])[]): string {
  return rows
    .map((row) => {
      const broken = row.find((field) => field === "" || /[\t\n]/.test(field));
      if (broken !== undefined) throw new RangeError(`${JSON.stringify(broken)} cannot be a field of a table`);
      return `${row.join("\t")}\n`;
    })
    .join("");
}
