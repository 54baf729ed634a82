// Sees what nothing faster does: whole plans of every stack, as digests.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { makePlan } from "../../plan/report/makePlan.ts";
import { withEveryAddOn } from "../../rehearsal/run/everyAddOn.ts";
import { testStacks } from "../support/stacks.ts";
import { fenestra } from "../support/suite.ts";

// What users get, as digests by stack and part: a change that should move nothing shows here what it moves.
type Texts = Readonly<Record<string, string>>;

const file = path.join(import.meta.dirname, "freeze.yaml");
const kept: Readonly<Record<string, Texts>> = parse(readFileSync(file, "utf8")) ?? {};
const root = path.join(import.meta.dirname, "../..");

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 10);

function textsBy<T>(items: readonly T[], part: (item: T) => string): Texts {
  const groups = [...Map.groupBy(items, part)].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(groups.map(([name, group]) => [name, JSON.stringify(group, null, 1)]));
}

/** The parts of `plan --json`: resources by provider, machines by role, their user data, findings, all else. */
async function planParts(stack: string, config: Readonly<Record<string, string>>): Promise<Texts> {
  const { findings, machines, resources, ...rest } = await makePlan({ stack, config });
  // A machine's files are told by its role: else each change of them would move the provider's resources too.
  const userData = /\[user data, [^\]]*\]/g;
  const text = JSON.stringify(resources);
  const others: typeof resources = JSON.parse(text.replaceAll(userData, "[user data]"));
  return {
    ...textsBy(others, ({ type }) => type.split(":")[0] ?? ""),
    ...textsBy(machines, ({ role }) => role),
    userData: (text.match(userData) ?? []).join("\n"),
    findings: JSON.stringify(findings, null, 1),
    rest: JSON.stringify(rest, null, 1),
  };
}

const printed = async (...args: readonly string[]) => (await fenestra(...args)).out;

async function helpOfAll(): Promise<Texts> {
  const commands = await printed("--help");
  const names = [...commands.matchAll(/^ {2}(\S+) {2}/gm)].map(([, name = ""]) => name);
  assert.ok(names.length > 3);
  const each = names.map(async (name) => [name, await printed(name, "--help")] as const);
  return { commands, ...Object.fromEntries(await Promise.all(each)) };
}

const all: readonly (readonly [name: string, texts: () => Promise<Texts>])[] = [
  ["--help", helpOfAll],
  ["schema", async () => ({ stackFile: await printed("schema"), plan: await printed("schema", "plan") })],
  // That these are the program's answers another test says.
  ["bad input", async () => ({ answers: readFileSync(path.join(root, "tests/config/badInput.yaml"), "utf8") })],
  ...stackNames(testStacks).flatMap((stack) => {
    const config = readStackFile(stack, testStacks);
    return [
      [stack, () => planParts(stack, config)],
      [`${stack} with every add-on`, () => planParts(stack, withEveryAddOn(config))],
    ] as const;
  }),
];

/** Writes each part as a file, lines of machine files as lines, for `diff -r`. */
function writeTexts(folder: string, name: string, texts: Texts) {
  const below = path.join(folder, name.replaceAll(" ", "-"));
  mkdirSync(below, { recursive: true });
  for (const [part, text] of Object.entries(texts)) writeFileSync(path.join(below, part), text.replaceAll("\\n", "\n"));
}

describe("what users get", function () {
  this.timeout(120_000);
  const update = process.env.UPDATE_SNAPSHOTS === "1";
  const wanted = process.env.FREEZE_TEXTS;
  let folder = wanted;
  const made: Record<string, Texts> = {};

  for (const [name, textsOf] of all)
    it(`is as frozen: ${name}`, async () => {
      const texts = await textsOf();
      const now = Object.fromEntries(Object.entries(texts).map(([part, text]) => [part, digest(text)]));
      made[name] = now;
      const before = kept[name] ?? {};
      const moved = [...new Set([...Object.keys(before), ...Object.keys(now)])].filter((it) => before[it] !== now[it]);
      if (wanted !== undefined || moved.length > 0) {
        folder ??= mkdtempSync(path.join(tmpdir(), "fenestra-freeze-"));
        writeTexts(folder, name, texts);
      }
      const difference = `${name}: ${moved.join(", ")} moved, see ${folder}`;
      if (update && moved.length > 0) console.log(`      ${difference}`);
      if (!update && moved.length > 0) assert.fail(`${difference}; the head of ${file} says how to see what was`);
    });

  it("is frozen of each stack and of no other", () => {
    if (!update) assert.deepEqual(Object.keys(kept), Object.keys(Object.fromEntries(all)));
  });

  after(() => {
    if (!update) return;
    const [head = ""] = readFileSync(file, "utf8").split(/^(?!#)/m);
    writeFileSync(file, head + stringify(Object.fromEntries(all.map(([name]) => [name, made[name] ?? kept[name]]))));
  });
});
