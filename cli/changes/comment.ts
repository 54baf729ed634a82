import { lstatSync, readFileSync } from "node:fs";
import { changesSchema, type StackChange, statuses, table } from "./stackChange.ts";

// Runs with a token that may write to the repository, on what anyone's branch left: it takes every text as hostile.

/** Longest comment in bytes; GitHub refuses more than 65,536 characters. */
export const commentLimit = 65_000;

export const marker = "<!-- fenestra plan -->";

/** Files of big stacks have about one megabyte. */
const largestFile = 32 * 1024 * 1024;

const mostStacks = 40;

/** Where the plans come from, by GitHub's word and not the branch's. */
export interface CommentSource {
  readonly sha: string;
  /** Page of the run, with the rendered plans and the files. */
  readonly runUrl: string;
}

export function failureComment({ sha, runUrl }: CommentSource): string {
  return `${marker}\nThere is no plan of \`${sha}\`: [the run](${runUrl}) says why.\n`;
}

/**
 * The branch's texts are in fenced blocks, where no mention, link, picture or HTML works and no bot reads a command.
 * A block for which there is no room is left out.
 */
export function changesComment(changes: readonly StackChange[], { sha, runUrl }: CommentSource): string {
  const differing = changes
    .filter(({ status }) => status !== "same")
    .toSorted((a, b) => statuses.indexOf(a.status) - statuses.indexOf(b.status));
  const shown = differing.slice(0, mostStacks);
  const same = changes.filter(({ status }) => status === "same").slice(0, mostStacks);
  const parts = shown.flatMap(partsOf);
  const build = (some: readonly Part[]) =>
    [
      marker,
      `Plan of \`${sha}\`, made without an account. With [the run](${runUrl}) are the plans as pages, whole comparisons, and all files of machines.`,
      "",
      ...(changes.length === 0 ? ["There is no stack."] : table([...shown, ...same])),
      ...(changes.length > shown.length + same.length ? ["", "More stacks are with the run."] : []),
      "",
      ...some.flatMap(block),
    ].join("\n");
  const told: Part[] = [];
  for (const part of parts)
    if (Buffer.byteLength(build([...told, part])) <= commentLimit - leftOut.length) told.push(part);
  return `${build(told)}${told.length < parts.length ? leftOut : ""}`;
}

const leftOut = "The rest is with the run.\n";

interface Part {
  /** HTML of ours. */
  readonly title: string;
  readonly language: "diff" | "text";
  readonly open: boolean;
  readonly text: string;
}

/** Most lines of all blocks of a stack; a comment on one stack has fewer than sixty with its table. */
const stackLines = 50;

/** What a reviewer decides by; then as much as there is room for. */
function partsOf({ stack, reason, nodes, values, findings, files, summary }: StackChange): readonly Part[] {
  const of = (what: string, text: string, language: Part["language"], open = false): Part => {
    return { title: `<code>${stack}</code>: ${what}`, language, open, text };
  };
  const parts: readonly Part[] = [
    of("why", reason, "text", true),
    of("nodes", nodes, "diff", true),
    of("findings", findings, "diff"),
    of("resources and values", values, "diff", true),
    of("files of the machines", files, "diff"),
    of("the plan", summary, "text"),
  ];
  let room = stackLines;
  return parts.flatMap((part) => {
    const text = plain(part.text);
    const lines = text.split("\n");
    const most = room - frameLines;
    if (text === "" || most < 2) return [];
    const shown = lines.length <= most ? lines : [...lines.slice(0, most - 1), cutNote];
    room = most - shown.length;
    return [{ ...part, text: shown.join("\n") }];
  });
}

/** Longer than any backticks that `plain` leaves. */
const fence = "````";

function block({ title, language, open, text }: Part): readonly string[] {
  return [
    `<details${open ? " open" : ""}><summary>${title}</summary>`,
    "",
    `${fence}${language}`,
    text,
    fence,
    "",
    "</details>",
    "",
  ];
}

/** Lines of a block beside its text. */
const frameLines = block({ title: "", language: "text", open: true, text: "" }).length - 1;

/** A text without control characters, turns of direction, characters of no width, and backticks like the fence's. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?|[\u2028\u2029\u0085]/g, "\n")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => (character === "\n" || character === "\t" ? character : "\u{FFFD}"))
    .replaceAll(/`{4,}/g, "```")
    .trimEnd();
}

const cutNote = "... the rest is with the run";

/** The comment for a run's file; a missing one, no plain one, or one of another form is as good as none. */
export function commentOfFile(file: string, source: CommentSource): string {
  let changes: readonly StackChange[];
  try {
    const found = lstatSync(file);
    if (!found.isFile() || found.size > largestFile) return failureComment(source);
    changes = changesSchema.parse(JSON.parse(readFileSync(file, "utf8"))).stacks;
  } catch {
    return failureComment(source);
  }
  return changesComment(changes, source);
}

if (import.meta.main) {
  const [file = ""] = process.argv.slice(2);
  const { HEAD_SHA: sha = "", RUN_URL: runUrl = "" } = process.env;
  process.stdout.write(commentOfFile(file, { sha, runUrl }));
}
