import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { skip } from "../../support/skip.ts";

const folder = fileURLToPath(new URL("scripts/", import.meta.url));
/** Windows PowerShell 5.1 is what a node runs; elsewhere its successor is used. */
const shells = process.platform === "win32" ? ["powershell.exe", "pwsh"] : ["pwsh"];

/** The first shell that starts. `undefined` when there is none. */
function findShell(): string | undefined {
  return shells.find((shell) => spawnSync(shell, ["-NoProfile", "-Command", "exit 0"]).status === 0);
}

describe("the PowerShell scripts' own tests", () => {
  const shell = findShell();
  const reason = `no PowerShell (${shells.join(", ")}) on PATH`;

  if (process.env.REQUIRE_PWSH === "1") {
    it("have a PowerShell to run in", () => assert.ok(shell !== undefined, reason));
  }

  const onWindows = process.platform === "win32" ? ["smoke.windows.ps1"] : [];
  for (const name of [...readdirSync(folder).filter((file) => file.endsWith(".tests.ps1")), ...onWindows]) {
    it(name, function () {
      if (shell === undefined) skip(this, `${name}: ${reason}`);
      this.timeout(300_000);
      const args = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", `${folder}${name}`];
      const { status, stdout, stderr } = spawnSync(shell, args, { encoding: "utf8" });
      assert.equal(status, 0, `${stdout}\n${stderr}`);
      assert.match(stdout.trim().split("\n").at(-1) ?? "", /^[1-9]\d* passed, 0 failed\s*$/);
    });
  }
});
