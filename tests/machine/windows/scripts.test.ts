import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { slimScript } from "../../../components/machine/bundle.ts";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import { syntaxErrors } from "../../support/powershell.ts";

const folder = new URL("../../../components/machine/windows/scripts/", import.meta.url);
const testFolder = new URL("scripts/", import.meta.url);

describe("the PowerShell scripts of a Windows node", () => {
  it("are all in the payload, and nothing else is", () => {
    assert.deepEqual([...windowsScripts].sort(), readdirSync(folder).sort());
  });

  for (const name of windowsScripts) {
    it(`${name} parses, as written and as packed`, async () => {
      const script = readWindowsScript(name);
      assert.deepEqual(await syntaxErrors(script), []);
      assert.deepEqual(await syntaxErrors(slimScript(script)), []);
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

  it("hold no text over several lines in which packing would change something", () => {
    for (const name of windowsScripts) {
      assert.doesNotMatch(readWindowsScript(name), /@["']\s*$/m, `${name} has a here-string`);
      assert.doesNotMatch(readWindowsScript(name), /<#/, `${name} has a block comment`);
    }
  });

  it("are plain ASCII: Windows PowerShell reads a file without a byte order mark in the machine's code page", () => {
    for (const name of windowsScripts) assert.match(readWindowsScript(name), /^[\x20-\x7e\n]*$/, name);
  });

  it("each say in their first line what they are for, and stay short", () => {
    for (const name of windowsScripts) {
      const lines = readWindowsScript(name).split("\n");
      assert.match(lines[0] ?? "", /^# [A-Z].*\.?$/, name);
      assert.ok(lines.length <= 220, `${name} has ${lines.length} lines`);
    }
  });
});
