import assert from "node:assert/strict";
import path from "node:path";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import type { CheckResult } from "../../check/check.ts";
import { junitXml, xmlText } from "../../check/junit.ts";
import { paintFor, recapLines, resultLines, summaryLine, timed } from "../../check/report.ts";
import { matchSnapshot } from "../support/snapshot.ts";

const results: readonly CheckResult[] = [
  {
    id: "workloads",
    title: "all pods",
    outcome: "failed",
    reason: 'Deployment a/b: image "x" <not found>\nand c',
    lookAt: "kubectl describe",
    notes: [],
    seconds: 1.25,
  },
  { id: "dns/linux", title: "names", outcome: "passed", notes: ["on l1", "on l2"], seconds: 0.5 },
  { id: "dns/windows-2022", title: "names", outcome: "skipped", reason: "simulated & so on", notes: [], seconds: 0 },
];
const snapshot = (name: string): string => path.join(import.meta.dirname, `snapshots/${name}`);

describe("report of checks", () => {
  it("is a JUnit file", () => matchSnapshot(snapshot("junit.xml"), junitXml(results, "https://api:6443")));

  it("is lines for people, with the counts last", () => {
    const lines = results.map((result, index) => resultLines(result, { number: index + 1, of: 12 }));
    const shown = [...lines, ...recapLines(results), summaryLine(results)].map((line) => timed(line, 12_340));
    matchSnapshot(snapshot("report.txt"), shown.join(""));
  });

  it("steers no terminal with what a node says of itself", () => {
    const reason = "\u001b[2J\rpass\u009b";
    const hostile: CheckResult = { id: "nodes", title: "t", outcome: "failed", reason, notes: [], seconds: 0 };
    const shown = "\u{FFFD}[2J\u{FFFD}pass\u{FFFD}";
    assert.equal(resultLines(hostile, { number: 1, of: 1 }), `FAIL  1/1  [nodes] t\n      ${shown}`);
    assert.deepEqual(recapLines([hostile]), ["failed:", `  [nodes] ${shown}`]);
  });

  it("is coloured on terminals that take colours, and plain elsewhere", () => {
    const forced = process.env.FORCE_COLOR;
    delete process.env.FORCE_COLOR; // Mocha may set it; it overrules the terminal.
    try {
      for (const [isTTY, depth, text] of [
        [true, 8, "\u001b[31mx\u001b[39m"],
        // NO_COLOR and dumb terminals make the depth 1.
        [true, 1, "x"],
        [false, 8, "x"],
      ] as const) {
        const stream = Object.assign(new PassThrough(), { isTTY, getColorDepth: () => depth });
        assert.equal(paintFor(stream)("red", "x"), text);
      }
    } finally {
      if (forced !== undefined) process.env.FORCE_COLOR = forced;
    }
  });

  it("shows no negative time when the clock is set back", () => assert.equal(timed("x", -5), "[  0.0 s] x\n"));

  it("keeps every text in XML, and no character that would end it", () => {
    const plain = (xml: string): string =>
      xml
        .replaceAll("&#10;", "\n")
        .replaceAll("&#13;", "\r")
        .replaceAll("&#9;", "\t")
        .replaceAll("&lt;", "<")
        .replaceAll("&gt;", ">")
        .replaceAll("&quot;", '"')
        .replaceAll("&amp;", "&");
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const xml = xmlText(text);
        assert.doesNotMatch(xml, /[<>"\n\r\t]|&(?!(amp|lt|gt|quot|#10|#13|#9);)/);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot hold
        assert.equal(plain(xml), text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\u{FFFD}"));
      }),
    );
  });
});
