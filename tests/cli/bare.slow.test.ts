import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { commands, main } from "../../cli/main.ts";

const root = path.join(import.meta.dirname, "../../");

/** Commands that act without arguments: they read, or write a file that git has. */
const acting = ["changes", "pin", "schema", "stacks"];

describe("what a person calls without a word", () => {
  it("is refused, with what it needs, by every command that could change something", async () => {
    const names = Object.keys(commands);
    assert.ok(names.includes("down") && acting.every((name) => names.includes(name)));
    for (const name of names.filter((each) => ![...acting, "completion"].includes(each))) {
      const said = { out: "", err: "" };
      const terminal = { out: (text: string) => (said.out += text), err: (text: string) => (said.err += text) };
      assert.deepEqual([await main([name], terminal), said.out], [2, ""], name);
      assert.match(said.err, /^fenestra: \S.* (needs|is for|add) /, name);
    }
  }).timeout(120_000);

  it("is on Windows the one script that collects logs, which removes its own folder alone", () => {
    // Without the lists of what a machine gets.
    const lists = /^ {2}("[a-z-]+\.ps1",|return \[\.\.\.sharedScripts.*)$/gm;
    const files = globSync("components/{machine/windows,podNetworks}/**/*.{ps1,ts}", { cwd: root }).map((file) => ({
      file,
      text: readFileSync(path.join(root, file), "utf8").replaceAll(lists, ""),
    }));
    const called = files.filter(({ file }) => {
      const name = path.basename(file, ".ps1");
      const isNamed = files.some((other) => other.file !== file && new RegExp(`\\b${name}\\b`).test(other.text));
      return !/^stage-|\.ts$/.test(name) && !isNamed;
    });
    assert.deepEqual(
      called.map(({ file }) => path.basename(file)),
      ["collect-logs.ps1"],
    );
    const changing = called[0]?.text.match(/^.*\b(Remove|Stop|Restart|Set|Clear|Disable)-\w+.*$/gm) ?? [];
    assert.deepEqual(
      changing.map((line) => line.trim()),
      ["Remove-Item -Recurse -Force -LiteralPath $folder -ErrorAction SilentlyContinue"],
    );
  });
});
