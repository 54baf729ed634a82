import { styleText } from "node:util";
import type { CheckResult, Position } from "./check.ts";

export type Paint = (style: "dim" | "green" | "red" | "yellow", text: string) => string;

export interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Default: none. */
  readonly paint?: Paint;
}

export const plain: Paint = (_style, text) => text;

/** Colours for a terminal that takes them (`NO_COLOR` refuses, `FORCE_COLOR` demands), else plain text. */
export function paintFor(stream: NodeJS.WritableStream & { readonly isTTY?: boolean }): Paint {
  return stream.isTTY === true || process.env.FORCE_COLOR !== undefined
    ? (style, text) => styleText(style, text, { stream })
    : plain;
}

const words = { passed: ["green", "pass"], failed: ["red", "FAIL"], skipped: ["yellow", "skip"] } as const;

/** A node's words must not steer the terminal. */
function harmless(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]/gu, "\u{FFFD}");
}

/** `[ 12.3 s] text`; further lines are indented. */
export function timed(text: string, milliseconds: number, paint: Paint = plain): string {
  const label = `[${(Math.max(0, milliseconds) / 1000).toFixed(1).padStart(5)} s]`;
  return `${paint("dim", label)} ${text.replaceAll("\n", `\n${" ".repeat(label.length + 1)}`)}\n`;
}

/** `12/31`, of one width per run. */
export function positionText({ number, of }: Position): string {
  return `${String(number).padStart(String(of).length)}/${of}`;
}

/** The lines of one result, without a final line break. */
export function resultLines(result: CheckResult, position: Position, paint: Paint = plain): string {
  const [style, word] = words[result.outcome];
  const below = [
    ...(result.reason === undefined ? [] : [result.reason]),
    ...(result.lookAt === undefined ? [] : [`look at: ${result.lookAt}`]),
    ...result.notes,
  ].flatMap((text) => harmless(text).split("\n"));
  const first = `${paint(style, word)}  ${paint("dim", positionText(position))}  ${harmless(`[${result.id}] ${result.title}`)}`;
  return [first, ...below.map((line) => `      ${line}`)].join("\n");
}

/** Failed checks again, with the first line of each reason. */
export function recapLines(results: readonly CheckResult[], paint: Paint = plain): readonly string[] {
  const failed = results.filter(({ outcome }) => outcome === "failed");
  if (failed.length === 0) return [];
  return ["failed:", ...failed.map(({ id, reason = "" }) => harmless(`  [${id}] ${reason.split("\n")[0]}`))].map(
    (line) => paint("red", line),
  );
}

/** `N passed, N failed, N skipped`. */
export function summaryLine(results: readonly Pick<CheckResult, "outcome">[]): string {
  const count = (outcome: CheckResult["outcome"]): number => results.filter((each) => each.outcome === outcome).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`;
}
