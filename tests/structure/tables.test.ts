import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { podNetworkNames } from "../../components/model/cidr.ts";
import { cloudNames } from "../../components/model/cloudFacts/facts.ts";
import { operatingSystemNames } from "../../components/model/operatingSystems.ts";
import { minors } from "../../components/model/releases.ts";

const root = path.join(import.meta.dirname, "../../");
const folders = ["components", "plan", "check", "rehearsal", "cli", "examples/ci", "stacks"];
const names: readonly string[] = [
  ...cloudNames,
  ...operatingSystemNames,
  ...podNetworkNames,
  ...minors.map(({ minor }) => minor),
];

/** Keys of other kinds that happen to have such a name: file and reason. */
const others: Readonly<Record<string, string>> = {
  "plan/fakes/cloud.ts": "providers of Pulumi; another one is refused",
  "rehearsal/programs/podNetworks.ts": "programs in images",
};

/** Tables by minor, cloud, system or pod network whose type, of any text or in part, lets a row be missing. */
function openTables(text: string): readonly string[] {
  const inPart = text.match(/Partial<Record<(OperatingSystemName|Minor|Cloud|PodNetworkName|WindowsFacts)\b/g) ?? [];
  const byText = [...text.matchAll(/Record<string, [^;={]*?= \{\n([\s\S]*?)\n\}/g)].flatMap(([, body = ""]) =>
    [...body.matchAll(/^ {2}("?)([\w.-]+)\1:/gm)].flatMap(([, , key = ""]) => (names.includes(key) ? [key] : [])),
  );
  return [...inPart, ...byText];
}

describe("tables by minor, cloud, system or pod network", () => {
  it("do not compile without a row, and those of plain text are found", () => {
    for (const text of [
      "const a: Partial<Record<Minor, string>> = {};",
      'const a: Readonly<Record<string, string>> = {\n  "1.36": "a",\n};',
      "const a: Record<string, readonly string[]> = {\n  aws: [],\n};",
    ])
      assert.equal(openTables(text).length, 1, text);
    assert.deepEqual(openTables("const a: Record<Minor, string> = {\n  aws: 1,\n};"), []);
    const files = execFileSync("git", ["ls-files", "--", ...folders], { cwd: root, encoding: "utf8" }).split("\n");
    const found = files
      .filter((file) => file.endsWith(".ts") && openTables(readFileSync(`${root}${file}`, "utf8")).length > 0)
      .sort();
    assert.deepEqual(found, Object.keys(others).sort());
  });
});
