import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const root = path.join(import.meta.dirname, "../../");

/** A fenced block of a document. */
export interface Block {
  /** Language after the fence; empty when there is none. */
  readonly language: string;
  /** Line of the fence, counted from 1. */
  readonly line: number;
  readonly text: string;
}

export interface Document {
  /** Path from the root. */
  readonly file: string;
  readonly text: string;
  readonly blocks: readonly Block[];
  /** The text without fenced blocks; line numbers stay. */
  readonly prose: string;
}

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
  const fenced = /^```(\w*).*\n([\s\S]*?)^```$/gm;
  const blocks = [...text.matchAll(fenced)].map(({ index, 1: language = "", 2: inner = "" }) => ({
    language,
    line: text.slice(0, index).split("\n").length,
    text: inner,
  }));
  const prose = text.replaceAll(fenced, (block) => block.replaceAll(/.+/g, ""));
  if (/^```/m.test(prose)) throw new RangeError("a block does not end");
  return { blocks, prose };
}
