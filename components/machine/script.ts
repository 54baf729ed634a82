import { readFileSync } from "node:fs";

/**
 * Text of a script as the machine gets it: without blank lines and comment lines, in PowerShell also without
 * indentation, so that an edited comment replaces no machine. A script must not contain multi-line text in which such
 * lines matter; tests compare what bash and PowerShell's grammar read.
 */
export function readScript(url: URL): string {
  const lines = readFileSync(url, "utf8").split("\n");
  const trimmed = url.pathname.endsWith(".ps1") ? lines.map((line) => line.trim()) : lines;
  return `${trimmed.filter((line) => !/^\s*(#(?!!).*)?$/.test(line)).join("\n")}\n`;
}

/**
 * What the collection of logs hides, a regular expression of .NET and Python in each line: of a match the first group
 * stays. Secrets are known by the name of their key, not by their length.
 */
export const secretPatterns = readFileSync(new URL("secret-patterns.txt", import.meta.url), "utf8");

/** Text of a machine's configuration file without comment lines, for the same reason. */
export function withoutComments(url: URL): string {
  return readFileSync(url, "utf8").replace(/^[ \t]*#.*\n/gm, "");
}
