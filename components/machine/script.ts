import { readFileSync } from "node:fs";

/**
 * Text of a script of a machine, as the machine gets it: without lines that are empty or a comment, in PowerShell also without indentation.
 * That is done here, before anything is hashed, so that a comment may change and no machine is replaced. A script may hold no text of
 * several lines in which it matters; tests compare what bash and PowerShell's grammar read.
 */
export function readScript(url: URL): string {
  const lines = readFileSync(url, "utf8").split("\n");
  const trimmed = url.pathname.endsWith(".ps1") ? lines.map((line) => line.trim()) : lines;
  return `${trimmed.filter((line) => !/^\s*(#(?!!).*)?$/.test(line)).join("\n")}\n`;
}

/** Text of a configuration file of a machine without the lines that are a comment, for the same reason. */
export function withoutComments(url: URL): string {
  return readFileSync(url, "utf8").replace(/^[ \t]*#.*\n/gm, "");
}
