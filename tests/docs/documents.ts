import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A fenced block of a document. */
export interface Block {
  /** Language after the fence; empty when there is none. */
  readonly language: string;
  /** Line of the fence, counted from 1. */
  readonly line: number;
  readonly text: string;
}

/** A Markdown document of the repository. */
export interface Document {
  /** Path from the root. */
  readonly file: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text without fenced blocks; line numbers stay. */
  readonly prose: string;
}

/** Reads a document. */
export function readDocument(file: string): Document {
  const text = readFileSync(path.join(root, file), "utf8");
  return { file, text, ...split(text) };
}

/** Every document: those at the root, in docs and its folders. */
export function documents(): readonly Document[] {
  return ["", "docs", "docs/adr", "docs/operations"]
    .flatMap((folder) => readdirSync(path.join(root, folder)).map((name) => path.join(folder, name)))
    .filter((file) => file.endsWith(".md"))
    .map(readDocument);
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchors({ prose }: Document): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [, heading = ""] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-");
    // A repeated heading gets a number.
    let unique = slug;
    for (let count = 1; found.has(unique); count += 1) unique = `${slug}-${count}`;
    found.add(unique);
  }
  return found;
}

function split(text: string): Pick<Document, "blocks" | "prose"> {
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (fence === null) (open?.lines ?? prose).push(line);
    if (fence === null && open === undefined) continue;
    if (fence === null || open !== undefined) prose.push("");
    if (fence === null) continue;
    if (open === undefined) {
      open = { language: fence[1] ?? "", line: index + 1, lines: [] };
      prose.push("");
    } else {
      blocks.push({ language: open.language, line: open.line, text: `${open.lines.join("\n")}\n` });
      open = undefined;
    }
  }
  if (open !== undefined) throw new RangeError(`the block of line ${open.line} does not end`);
  return { blocks, prose: prose.join("\n") };
}
