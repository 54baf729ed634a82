import { styleText } from "node:util";
import { harmless } from "../components/model/messages.ts";
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

/** Characters outside of XML 1.0 (W3C XML 1.0, production 2), which even references cannot write. */
const notAllowed = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  // Raw, an attribute's reader takes them for spaces.
  "\n": "&#10;",
  "\r": "&#13;",
  "\t": "&#9;",
};

/** What XML does not know becomes U+FFFD. */
export function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(notAllowed, "\u{FFFD}")
    .replaceAll(/[&<>"\n\r\t]/g, (character) => references[character] ?? character);
}

/** Escaped text has no line breaks. */
function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  content: readonly string[],
): readonly string[] {
  const opening = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${xmlText(String(value))}"`)];
  return content.length === 0
    ? [`<${opening.join(" ")}/>`]
    : [`<${opening.join(" ")}>`, ...content.map((line) => `  ${line}`), `</${name}>`];
}

/** Results as JUnit XML, for CI systems. @param server host that was checked */
export function junitXml(results: readonly CheckResult[], server: string): string {
  const cases = results.flatMap((result) => {
    const [classname = ""] = result.id.split("/");
    const details = [result.lookAt === undefined ? undefined : `look at: ${result.lookAt}`, ...result.notes]
      .filter((line) => line !== undefined)
      .map(xmlText)
      .join("&#10;");
    const outcome: Readonly<Record<CheckResult["outcome"], readonly string[]>> = {
      passed: details === "" ? [] : [`<system-out>${details}</system-out>`],
      failed: [`<failure message="${xmlText(result.reason ?? "")}">${details}</failure>`],
      skipped: [`<skipped message="${xmlText(result.reason ?? "")}"/>`],
    };
    return element(
      "testcase",
      { classname, name: `${result.id}: ${result.title}`, time: result.seconds.toFixed(3) },
      outcome[result.outcome],
    );
  });
  const count = (outcome: CheckResult["outcome"]): number => results.filter((each) => each.outcome === outcome).length;
  const totals = {
    name: "fenestra verify",
    tests: results.length,
    failures: count("failed"),
    skipped: count("skipped"),
    time: results.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
  };
  const suite = element("testsuite", { ...totals, hostname: server }, cases);
  return [`<?xml version="1.0" encoding="UTF-8"?>`, ...element("testsuites", totals, suite), ""].join("\n");
}
