import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import { syntaxErrors, tokens } from "../../support/powershell.ts";

const folder = new URL("../../../components/machine/windows/scripts/", import.meta.url);
const written = (name: string): string => readFileSync(new URL(name, folder), "utf8");
const testFolder = new URL("scripts/", import.meta.url);

describe("the PowerShell scripts of a Windows node", () => {
  it("are all in the payload, and nothing else is", () => {
    assert.deepEqual([...windowsScripts].sort(), readdirSync(folder).sort());
  });

  for (const name of windowsScripts) {
    it(`${name} parses, and is to PowerShell what is written when a node gets it without comments and indentation`, async () => {
      const script = readWindowsScript(name);
      assert.deepEqual(await syntaxErrors(script), []);
      assert.deepEqual(await tokens(script), await tokens(written(name)));
      assert.doesNotMatch(script.trimEnd(), /^\s*(#.*)?$/m);
    });
  }

  for (const name of readdirSync(testFolder).filter((file) => file.endsWith(".ps1"))) {
    it(`its test ${name} parses`, async () => {
      assert.deepEqual(await syntaxErrors(readFileSync(new URL(name, testFolder), "utf8")), []);
    });
  }

  it("a script that lacks a brace is told with its place", async () => {
    const broken = readWindowsScript("routes.ps1").replace(/\}\s*$/, "");
    const errors = await syntaxErrors(broken);
    assert.notEqual(errors.length, 0);
    assert.match(errors[0] ?? "", /^\d+:\d+ /);
  });

  it("are plain ASCII: Windows PowerShell reads a file without a byte order mark in the machine's code page", () => {
    for (const name of windowsScripts) assert.match(written(name), /^[\x20-\x7e\n]*$/, name);
  });

  it("each say in their first line what they are for, and stay short", () => {
    for (const name of windowsScripts) {
      const lines = written(name).split("\n");
      assert.match(lines[0] ?? "", /^# [A-Z].*\.?$/, name);
      assert.ok(lines.length <= 220, `${name} has ${lines.length} lines`);
    }
  });
});
