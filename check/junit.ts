import type { CheckResult } from "./check.ts";

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
