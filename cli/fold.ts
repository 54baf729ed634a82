import { stripVTControlCharacters as plain } from "node:util";

/**
 * Breaks lines between words at a width; what is broken off is indented as its line's text, behind a list's mark.
 * Colours count as no width.
 */
export function fold(text: string, width = 80): string {
  return text
    .split("\n")
    .map((line) => foldLine(line, width))
    .join("\n");
}

const lengthOf = (text: string): number => plain(text).length;

function foldLine(line: string, width: number): string {
  if (lengthOf(line) <= width) return line;
  // A table's rule, and its row.
  if (/^[─ ]+$/.test(line)) return line.slice(0, width).trimEnd();
  const [indent = ""] = /^\S.* {2}/.test(line) ? ["    "] : (/^\s*(?:[-+~!?·✗] )?/.exec(plain(line)) ?? []);
  const room = Math.max(width, indent.length + 20);
  const lines: string[] = [];
  let current = "";
  // The blanks before a word belong to it: columns stay.
  for (const word of line.match(/\s*\S+/g) ?? []) {
    if (current !== "" && lengthOf(current + word) > room) {
      lines.push(current);
      current = " ".repeat(indent.length) + word.trimStart();
    } else current += word;
  }
  return [...lines, current].join("\n");
}
