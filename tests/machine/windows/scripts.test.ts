import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { readWindowsScript, windowsScripts } from "../../../components/machine/windows/worker.ts";
import { podNetworks } from "../../../components/podNetworks/podNetworks.ts";
import { syntaxErrors, tokens } from "../../support/powershell.ts";

const shared = new URL("../../../components/machine/windows/scripts/", import.meta.url);
const ps1 = (folder: URL): readonly string[] => readdirSync(folder).filter((name) => name.endsWith(".ps1"));
const testFolder = new URL("scripts/", import.meta.url);

describe("the PowerShell scripts of a Windows node", () => {
  const all = Object.values(podNetworks).flatMap((network, index) => {
    const own = ps1(network.windows.folder);
    return windowsScripts(network)
      .filter((name) => index === 0 || own.includes(name))
      .map((name) => ({
        name,
        title: own.includes(name) ? `${network.name}'s ${name}` : name,
        script: readWindowsScript(name, network),
        written: readFileSync(new URL(name, own.includes(name) ? network.windows.folder : shared), "utf8"),
      }));
  });

  it("are all in the payload, and nothing else is", () => {
    for (const network of Object.values(podNetworks))
      assert.deepEqual([...windowsScripts(network)].sort(), [...ps1(shared), ...ps1(network.windows.folder)].sort());
  });

  for (const { title, script, written } of all)
    it(`${title} parses, and is to PowerShell what is written when a node gets it without comments and indentation`, async () => {
      assert.deepEqual(await syntaxErrors(script), []);
      assert.deepEqual(await tokens(script), await tokens(written));
      assert.doesNotMatch(script.trimEnd(), /^\s*(#.*)?$/m);
    });

  for (const name of readdirSync(testFolder).filter((file) => file.endsWith(".ps1")))
    it(`its test ${name} parses`, async () => assert.deepEqual(await syntaxErrors(readFileSync(new URL(name, testFolder), "utf8")), []));

  it("a script that lacks a brace is told with its place", async () => {
    const broken = readWindowsScript("routes.ps1", podNetworks.flannel).replace(/\}\s*$/, "");
    const errors = await syntaxErrors(broken);
    assert.notEqual(errors.length, 0);
    assert.match(errors[0] ?? "", /^\d+:\d+ /);
  });

  it("are plain ASCII: Windows PowerShell reads a file without a byte order mark in the machine's code page", () => {
    for (const { written, title } of all) assert.match(written, /^[\x20-\x7e\n]*$/, title);
  });

  it("each say in their first line what they are for, and stay short", () => {
    for (const { written, title } of all) {
      const lines = written.split("\n");
      assert.match(lines[0] ?? "", /^# [A-Z].*\.?$/, title);
      assert.ok(lines.length <= 250, `${title} has ${lines.length} lines`);
    }
  });
});
