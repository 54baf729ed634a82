import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseAllDocuments } from "yaml";
import { usage } from "../../cli/main.ts";
import { loadConfig } from "../../components/config/load.ts";
import { ConfigError } from "../../components/config/problem.ts";
import type { StackConfig } from "../../components/config/schema.ts";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { fenestra } from "../support/fenestra.ts";
import { stackDir, testStacks } from "../support/stacks.ts";
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

/** Lines of the shell blocks, comments and loops' keywords aside. */
const lines = shell.flatMap(({ at, text }) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => ({ at, line })),
);

/** Commands of one program, wherever in a line they begin. */
function commandsOf(program: string): readonly { readonly at: string; readonly words: readonly string[] }[] {
  const pattern = new RegExp(`(?:^|[|;&(]\\s*)${program}\\s([^|;&)]*)`, "g");
  return lines.flatMap(({ at, line }) =>
    [...line.matchAll(pattern)].map(([, rest = ""]) => ({ at, words: rest.replace(/>.*$/, "").trim().split(/\s+/) })),
  );
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-docs-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The config of a stack file's text, as the program reads it. */
function loadText(text: string): StackConfig {
  return inFolder((folder) => {
    writeFileSync(path.join(folder, "Pulumi.snippet.yaml"), text);
    return loadConfig(readStackFile("snippet", pathToFileURL(`${folder}/`)));
  });
}

/** Text of `fenestra <command> --help`. */
async function helpOf(command: string): Promise<string> {
  const { out, err } = await fenestra(command, "--help");
  return out + err;
}

const knownCommands = [...usage().matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name = ""]) => name);
const takenOptions = (help: string): ReadonlySet<string> => new Set([...help.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option));

describe("snippets of the documentation", () => {
  const stackSnippets = ofLanguage("yaml").filter(({ text }) => /^config:/m.test(text));

  for (const { at, text } of stackSnippets) it(`${at}: the stack file is valid`, () => assert.ok(loadText(text).pools.length > 0));

  it("have a stack file in the README, in both tutorials and for Windows workloads, that of the README of at most ten lines", () => {
    const files = stackSnippets.map(({ at }) => at.split(":")[0]);
    assert.deepEqual([...new Set(files)].sort(), ["README.md", "docs/aws.md", "docs/azure.md", "docs/domain.md"]);
    const readme = stackSnippets.find(({ at }) => at.startsWith("README.md"));
    assert.ok((readme?.text.trimEnd().split("\n").length ?? 99) <= 10);
  });

  it("would notice a stack file with a mistake", () => {
    const [first] = stackSnippets;
    assert.throws(() => loadText((first?.text ?? "").replace("fenestra:region", "fenestra:regoin")), ConfigError);
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

  it("say a language that a test knows", () => {
    const known = ["sh", "yaml", "mermaid", ""];
    const unknown = snippets.filter(({ language }) => !known.includes(language)).map(({ at }) => at);
    assert.deepEqual(unknown, []);
  });

  it("draw with Mermaid: a known kind of diagram, and no semicolon, which would end a statement in the middle of a text", () => {
    const diagrams = ofLanguage("mermaid");
    assert.ok(diagrams.length >= 4, `${diagrams.length} diagrams`);
    for (const { at, text } of diagrams) {
      assert.match(text, /^(flowchart (TB|LR)|sequenceDiagram)\n/, at);
      assert.doesNotMatch(text, /;/, at);
      const opened = [...text.matchAll(/^ *(subgraph|loop) /gm)].length;
      assert.equal([...text.matchAll(/^ *end$/gm)].length, opened, `${at}: every subgraph and loop ends`);
    }
  });

  it(`parse as bash: ${shell.length} blocks, ${["pulumi", "aws", "az", "kubectl"].map((name) => `${commandsOf(name).length} ${name}`).join(", ")}`, () => {
    assert.ok(shell.length > 40);
    for (const { at, text } of shell) {
      const { status, stderr } = spawnSync("bash", ["-n"], { input: text, encoding: "utf8" });
      assert.equal(status, 0, `${at}: ${stderr}`);
    }
  });

  it("call make with its own targets and stacks that exist", () => {
    const calls = commandsOf("make");
    assert.ok(calls.length >= 8);
    const makefile = readFileSync(path.join(root, "Makefile"), "utf8");
    const targets = [...makefile.matchAll(/^([a-z]+):/gm)].map(([, name = ""]) => name);
    for (const { at, words } of calls)
      for (const word of words) {
        const stack = /^STACK=(.+)$/.exec(word)?.[1];
        const known = stack === undefined ? targets.includes(word) : stackNames(testStacks).includes(stack);
        assert.ok(known, `${at}: make ${words.join(" ")}`);
      }
  });

  it("call fenestra with commands, options and stacks that exist", async () => {
    const calls = commandsOf("(?:fenestra/)?cli/fenestra");
    const inProse = documents().flatMap(({ file, prose }) =>
      [...prose.matchAll(/`(?:cli\/)?fenestra ([^`<]+)`/g)].map(([, rest = ""]) => ({ at: file, words: rest.split(" ") })),
    );
    assert.ok(calls.length >= 10 && inProse.length >= 20, `${calls.length} and ${inProse.length} calls`);
    for (const { at, words } of [...calls, ...inProse]) {
      const [command = "", ...rest] = words;
      if (command === "--help") continue;
      assert.ok(knownCommands.includes(command), `${at}: fenestra ${words.join(" ")}`);
      const taken = takenOptions(await helpOf(command));
      for (const [index, word] of rest.entries()) {
        if (word.startsWith("--")) assert.ok(taken.has(word), `${at}: ${command} takes no ${word}`);
        if (rest[index - 1] === "--stack") assert.ok(stackNames(testStacks).includes(word), `${at}: there is no stack ${word}`);
      }
    }
  });

  it("run: every block with fenestra plan or mirror, in a folder of its own", function () {
    this.timeout(240_000);
    // A repeated command is run once; those of one block share their folder, since one may read what the other wrote.
    const seen = new Set<string>();
    let run = 0;
    for (const { at, text } of shell) {
      const commands = text.split("\n").filter((line) => /^cli\/fenestra (plan|mirror) /.test(line) && !seen.has(line));
      if (commands.length === 0) continue;
      inFolder((folder) => {
        symlinkSync(path.join(root, "cli"), path.join(folder, "cli"));
        for (const command of commands) {
          seen.add(command);
          const { status, stderr } = spawnSync("bash", ["-c", command.replace(/(--stack \S+)/, `$1 ${stackDir.join(" ")}`)], {
            cwd: folder,
            encoding: "utf8",
          });
          assert.equal(status, 0, `${at}: ${command}\n${stderr}`);
          run += 1;
        }
      });
    }
    assert.ok(run >= 6, `${run} commands were run`);
  });
});
