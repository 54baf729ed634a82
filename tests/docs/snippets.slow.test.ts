// Sees what nothing faster does: the commands of the documents, as bash and the command read them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseAllDocuments } from "yaml";
import { commands } from "../../cli/main.ts";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { testStacks } from "../support/stacks.ts";
import { fenestra, suiteFolder } from "../support/suite.ts";
import { type Block, documents, root } from "./documents.ts";

/** A block with the place to name in a failure. */
interface Snippet extends Block {
  readonly at: string;
}

const snippets: readonly Snippet[] = documents().flatMap(({ file, blocks }) =>
  blocks.map((block) => ({ ...block, at: `${file}:${block.line}` })),
);
const ofLanguage = (language: string): readonly Snippet[] => snippets.filter((block) => block.language === language);
const shell = ofLanguage("sh");

/** Lines of the shell blocks but comments. */
const lines = shell.flatMap(({ at, text }) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ at, line })),
);

describe("snippets of the documentation", () => {
  const folder = suiteFolder();

  for (const [index, { at, text }] of ofLanguage("yaml")
    .filter(({ text }) => /^config:/m.test(text))
    .entries())
    it(`${at}: the stack file is valid`, () => {
      writeFileSync(path.join(folder, `Pulumi.snippet${index}.yaml`), text);
      assert.ok(loadConfig(readStackFile(`snippet${index}`, pathToFileURL(`${folder}/`))).pools.length > 0);
    });

  it("hold YAML that can be read", () => {
    for (const { at, text } of ofLanguage("yaml"))
      assert.deepEqual(
        parseAllDocuments(text).flatMap(({ errors }) => errors),
        [],
        at,
      );
    const others = ofLanguage("yaml").filter(({ text }) => !/^config:/m.test(text));
    for (const { at, text } of others) assert.match(text, /^apiVersion: .+\nkind: /, at);
  });

  it("parse as bash", () => {
    assert.ok(shell.length > 40);
    for (const { at, text } of shell) {
      const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
      assert.equal(status, 0, `${at}: ${stderr}`);
    }
  });

  it("call fenestra with commands, options and stacks that exist", async () => {
    const calls = lines.flatMap(({ at, line }) =>
      [...line.matchAll(/(?:^|[|;&(]\s*)(?:fenestra\/)?cli\/fenestra\s([^|;&)]*)/g)].map(([, rest = ""]) => ({
        at,
        words: rest.replace(/>.*$/, "").trim().split(/\s+/),
      })),
    );
    const inProse = documents().flatMap(({ file, prose }) =>
      [...prose.matchAll(/`(?:cli\/)?fenestra ([^`<]+)`/g)].map(([, rest = ""]) => ({
        at: file,
        words: rest.split(/\s+/),
      })),
    );
    // What the program itself tells its user to run.
    const told = globSync("{cli,components,plan,check,rehearsal,stacks,examples}/**/*.{ts,yaml,sh,ps1}", { cwd: root });
    const inWords = told.flatMap((at) =>
      [...readFileSync(path.join(root, at), "utf8").matchAll(/\bfenestra ([a-z]+ --[a-z][^`"'\\\n);|,:]*)/g)].map(
        ([, rest = ""]) => ({ at, words: rest.replace(/--stack \S+/, "").split(/\s+/) }),
      ),
    );
    const counts = [calls.length, inProse.length, inWords.length] as const;
    assert.ok(counts[0] >= 10 && counts[1] >= 20 && counts[2] >= 5, counts.join());
    const named = [...calls, ...inProse].flatMap(({ words }) =>
      words[0] === "init" ? [words[words.indexOf("--stack") + 1]] : [],
    );
    const stacks = [...stackNames(testStacks), ...named, '"$STACK"'];
    for (const { at, words } of [...calls, ...inProse, ...inWords]) {
      const [command = "", ...rest] = words;
      if (command === "--help") continue;
      assert.ok(Object.hasOwn(commands, command), `${at}: fenestra ${words.join(" ")}`);
      const { out, err } = await fenestra(command, "--help");
      const taken: readonly string[] = (out + err).match(/--[a-z][a-z0-9-]*/g) ?? [];
      for (const [index, word] of rest.entries()) {
        if (word.startsWith("--")) assert.ok(taken.includes(word), `${at}: ${command} takes no ${word}`);
        if (rest[index - 1] === "--stack") assert.ok(stacks.includes(word), `${at}: there is no stack ${word}`);
      }
    }
  });
});
