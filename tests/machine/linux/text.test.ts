import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { describe, it } from "mocha";
import { envFile, shellQuote, tsvFile } from "../../../components/machine/linux/shell.ts";
import { stripComments } from "../../../components/machine/stripComments.ts";

const linux = path.join(import.meta.dirname, "../../../components/machine/linux/scripts");

/** What bash prints for a script; the locale is plain, so that bytes stay bytes. */
function bash(script: string, input = ""): { code: number | null; output: string } {
  const { status, stdout } = spawnSync("bash", ["-c", script], {
    input,
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" },
  });
  return { code: status, output: stdout };
}

describe("shell words", () => {
  it("come back from bash as they were", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string({ unit: "binary" }).map((text) => text.replaceAll("\0", "").replaceAll(/\p{Cs}/gu, "")),
          { minLength: 1, maxLength: 20 },
        ),
        (words) => {
          const { output } = bash(`printf '%s\\0' ${words.map(shellQuote).join(" ")}`);
          assert.deepEqual(output.split("\0").slice(0, -1), words);
        },
      ),
      { numRuns: 30 },
    );
  });
  it("cannot hold a NUL byte", () => assert.throws(() => shellQuote("a\0b"), /NUL/));
  it("are left readable where they need no quotes", () => {
    assert.equal(shellQuote("aws:///eu-central-1a/i-0"), "aws:///eu-central-1a/i-0");
    assert.equal(shellQuote("a b"), "'a b'");
    assert.equal(shellQuote("it's"), "'it'\\''s'");
    assert.equal(shellQuote(""), "''");
  });
  it("stand in files of variables under upper-case names only", () => {
    assert.equal(envFile({ A: "x y", B_2: 3 }), "A='x y'\nB_2=3\n");
    assert.throws(() => envFile({ "a b": 1 }), /a b is not the name of a variable/);
  });
  it("stand in tables without tabs, newlines and empty fields", () => {
    assert.equal(
      tsvFile([
        ["a", "-"],
        ["b c", "d"],
      ]),
      "a\t-\nb c\td\n",
    );
    for (const field of ["", "a\tb", "a\nb"]) assert.throws(() => tsvFile([[field]]), /cannot be a field/);
  });
});

describe("stripping comments", () => {
  const examples: readonly (readonly [title: string, source: string, stripped: string])[] = [
    ["keeps the first line only when it is a shebang", "#!/bin/bash\n# x\necho 1\n", "#!/bin/bash\necho 1\n"],
    ["drops a first line that is a comment", "# x\necho 1\n", "echo 1\n"],
    ["drops empty lines", "echo 1\n\n  \necho 2\n", "echo 1\necho 2\n"],
    ["keeps a comment behind a command", "echo 1 # it's\n# x\necho 2\n", "echo 1 # it's\necho 2\n"],
    ["keeps here-documents", "cat <<'E'\n# a\n\nE\n# b\necho\n", "cat <<'E'\n# a\n\nE\necho\n"],
    ["keeps here-documents with tabs", "cat <<-E\n\t# a\n\tE\n# b\n:\n", "cat <<-E\n\t# a\n\tE\n:\n"],
    [
      "keeps two here-documents of one line",
      "cat <<A <<B\n# a\nA\n# b\nB\n# c\n:\n",
      "cat <<A <<B\n# a\nA\n# b\nB\n:\n",
    ],
    ["is not misled by a here-string", "cat <<<E\n# a\nE=1\n", "cat <<<E\nE=1\n"],
    ["is not misled by a shift", "echo $((1 << 2))\n# a\n:\n", "echo $((1 << 2))\n:\n"],
    ["keeps text in single quotes", "echo 'a\n# b\n\nc'\n# d\n:\n", "echo 'a\n# b\n\nc'\n:\n"],
    [
      "keeps text in double quotes",
      'echo "a\n# b\n$(echo "it\'s")\n# c"\n# d\n:\n',
      'echo "a\n# b\n$(echo "it\'s")\n# c"\n:\n',
    ],
    ["keeps what follows a continued line", "echo a \\\n# b\n# c\n:\n", "echo a \\\n# b\n:\n"],
    ["knows $'...'", "echo $'it\\'s'\n# a\n:\n", "echo $'it\\'s'\n:\n"],
    ["knows escaped quotes", "echo \\' \\\"\n# a\n:\n", "echo \\' \\\"\n:\n"],
    ["knows the patterns of a case", "case x in\n# a\nx) echo 'y' ;;\nesac\n", "case x in\nx) echo 'y' ;;\nesac\n"],
    ["knows # inside of a word", "echo $#{x} a#'b'\n# c\n:\n", "echo $#{x} a#'b'\n:\n"],
  ];
  for (const [title, source, stripped] of examples) it(title, () => assert.equal(stripComments(source), stripped));

  const word = fc.constantFrom(
    "a",
    "b#c",
    "\\#",
    "\\'",
    '"x # y"',
    "'# z'",
    '"it\'s"',
    "$'q\\'#'",
    '"$(echo "n # m")"',
    "$" + "{#HOME}",
    "$((1 << 1))",
  );
  const line = fc.oneof(
    fc.array(word, { maxLength: 4 }).map((words) => `echo ${words.join(" ")}`),
    fc.array(word, { maxLength: 2 }).map((words) => `echo ${words.join(" ")} # it's "a comment`),
    fc.constantFrom(
      "# whole line's comment",
      '  # indented " comment',
      "",
      "   ",
      "echo '",
      "# x'",
      'echo "',
      'y # z"',
    ),
    fc.constantFrom(
      "cat <<E\n# in it's text\n\n$((1+1))\nE",
      "cat <<'E F'\n# \"\nE F",
      "cat <<-E\n\t# t\n\tE",
      "cat <<<'# s'",
    ),
    fc.constantFrom(
      "echo a \\",
      "if true; then\n  # c\n  echo b\nfi",
      'case a in\n  # c\n  a) echo "c" ;;\nesac',
      "f() {\n\n  # c's\n  echo f\n}\nf",
    ),
  );
  it("changes nothing that bash does", () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 6, maxLength: 30 }), (lines) => {
        const source = `${lines.join("\n")}\n`;
        const before = bash(source);
        // A text that bash refuses has no meaning that could be kept.
        fc.pre(spawnSync("bash", ["-n"], { input: source }).status === 0);
        assert.deepEqual(bash(stripComments(source)), before);
      }),
      { numRuns: 40 },
    );
  });

  it("leaves bash in every script of a machine, and no whole line of comment outside of awk", () => {
    for (const name of readdirSync(linux, { recursive: true, encoding: "utf8" }).filter((file) =>
      file.endsWith(".sh"),
    )) {
      const stripped = stripComments(readFileSync(path.join(linux, name), "utf8"));
      assert.equal(spawnSync("bash", ["-n"], { input: stripped }).status, 0, name);
      assert.deepEqual(
        stripped
          .split("\n")
          .slice(1)
          .filter((each) => /^\s*#/.test(each)),
        [],
        name,
      );
    }
  });
});

describe("JSON in bash", () => {
  // Only the functions: sourcing the library needs a machine.
  const library = readFileSync(path.join(linux, "lib.sh"), "utf8");
  const functions = ["json_text", "json_quote"]
    .map((name) => new RegExp(`^${name}\\(\\) \\{[\\s\\S]*?^\\}`, "m").exec(library)?.[0] ?? "")
    .join("\n");
  const text = fc.string({ unit: fc.constantFrom(..."abcXYZ019 {}[]:,\"\\/\n\t'-_+=&$`") });

  it("reads the strings that JSON.stringify writes", () => {
    fc.assert(
      fc.property(text, text, fc.boolean(), (value, other, spaced) => {
        const document = JSON.stringify(
          { first: 1, Other: other.replaceAll('"', ""), Value: value },
          undefined,
          spaced ? 2 : 0,
        );
        assert.equal(bash(`${functions}\njson_text Value; printf .`, document).output, `${value}.`);
      }),
      { numRuns: 40 },
    );
  });
  it("writes lines of text as JSON.parse reads them", () => {
    fc.assert(
      fc.property(text, (value) => {
        const { output } = bash(`${functions}\njson_quote`, `${value}\n`);
        assert.equal(JSON.parse(output), `${value}\n`);
      }),
      { numRuns: 40 },
    );
  });
  it("decodes escapes of ASCII and fails on a key that is not there", () => {
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"\\u0041\\/\\u003c"}').output, "A/<");
    assert.equal(bash(`${functions}\njson_text b`, '{"a":"x"}').code, 1);
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"unfinished').code, 1);
  });
});
