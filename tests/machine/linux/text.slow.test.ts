// Sees what nothing faster does: bash itself, and shellcheck.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { envFile, shellQuote, tsvFile } from "../../../components/machine/linux/rootfs.ts";
import { readScript } from "../../../components/machine/script.ts";
import { skipIf } from "../../support/skip.ts";

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
      { numRuns: 10 },
    );
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

describe("scripts as the machine gets them", () => {
  const scripts = readdirSync(linux, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sh"))
    .map((name) => new URL(name, pathToFileURL(`${linux}/`)));
  /** How bash itself writes down what it has read, which is without comments. */
  const read = (texts: readonly string[]): string => {
    const { code, output } = bash(`${texts.map((text, at) => `script${at}() {\n${text}\n}\n`).join("")}declare -f`);
    assert.equal(code, 0);
    return output;
  };

  it("are to bash what is written, without comments", () => {
    const given = scripts.map(readScript);
    assert.equal(read(given), read(scripts.map((url) => readFileSync(url, "utf8"))));
    for (const script of given) {
      assert.match(script, /^#!\/usr\/bin\/env bash\n/);
      const [, ...lines] = script.trimEnd().split("\n");
      assert.deepEqual(
        lines.filter((line) => /^\s*(#|$)/.test(line)),
        [],
      );
    }
  });
});

describe("shell scripts", () => {
  it("are without a finding of shellcheck", function () {
    // Thirty seconds on a machine with nothing else to do.
    this.timeout(300_000);
    const installed = spawnSync("shellcheck", ["--version"]).status === 0;
    skipIf(this, installed ? undefined : "shellcheck is missing: apt-get install shellcheck");
    const root = path.join(import.meta.dirname, "../../..");
    const files = readdirSync(path.join(root, "components"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".sh"))
      .map((name) => path.join("components", name));
    const { status, stdout } = spawnSync(
      "shellcheck",
      [
        "--external-sources",
        "--source-path=SCRIPTDIR",
        ...files,
        ".ci/run",
        "examples/ci/update.sh",
        "examples/ci/same-version.sh",
        "cli/fenestra",
        "cli/with-node",
        "tests/prepare",
      ],
      { cwd: root, encoding: "utf8" },
    );
    assert.equal(status, 0, stdout);
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
      { numRuns: 15 },
    );
  });
  it("writes lines of text as JSON.parse reads them", () => {
    fc.assert(
      fc.property(text, (value) => {
        const { output } = bash(`${functions}\njson_quote`, `${value}\n`);
        assert.equal(JSON.parse(output), `${value}\n`);
      }),
      { numRuns: 15 },
    );
  });
  it("decodes escapes of ASCII and fails on a key that is not there", () => {
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"\\u0041\\/\\u003c"}').output, "A/<");
    assert.equal(bash(`${functions}\njson_text b`, '{"a":"x"}').code, 1);
    assert.equal(bash(`${functions}\njson_text a`, '{"a":"unfinished').code, 1);
  });
});
