import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { skip } from "../../support/skip.ts";

const folder = fileURLToPath(new URL("scripts/", import.meta.url));
/** Windows PowerShell 5.1 is what a node runs; elsewhere its successor is used. */
const shells = process.platform === "win32" ? ["powershell.exe", "pwsh"] : ["pwsh"];

/** The first shell that starts. `undefined` when there is none. */
function findShell(): string | undefined {
  return shells.find((shell) => spawnSync(shell, ["-NoProfile", "-Command", "exit 0"]).status === 0);
}

/**
 * Statements of all that tests must run, in percent: asserted where coverage is counted on Windows PowerShell, GitHub's
 * job with REQUIRE_PWSH.
 */
const wantedCoverage = 95;

/**
 * Share of the lines that some test has run, of all and of each script, the least first; a line of the report is
 * `script/size line hits`.
 */
function coverage(report: string): string {
  const lines = new Map<string, boolean>();
  for (const [, line = "", hits] of report.matchAll(/^(\S+ \d+) (\d+)\r?$/gm))
    lines.set(line, lines.get(line) === true || hits !== "0");
  const share = (of: readonly (readonly [string, boolean])[]): number =>
    (100 * of.filter(([, hit]) => hit).length) / of.length;
  const scripts = [...Map.groupBy(lines, ([line]) => line.replace(/\/.*/, ""))].map(([name, of]) => ({
    name,
    share: share(of),
  }));
  const least = scripts
    .toSorted((a, b) => a.share - b.share)
    .map((script) => `${script.name} ${script.share.toFixed()} %`);
  return `${share([...lines]).toFixed(1)} % of ${lines.size} statements (${wantedCoverage} wanted): ${least.join(", ")}`;
}

describe("the PowerShell scripts' own tests", () => {
  const report = path.join(mkdtempSync(path.join(tmpdir(), "fenestra-coverage-")), "lines");
  after(() => {
    if (!existsSync(report)) return;
    const text = coverage(readFileSync(report, "utf8"));
    console.log(`      ${text}`);
    if (process.env.REQUIRE_PWSH === "1") assert.ok(Number.parseFloat(text) >= wantedCoverage, text);
  });

  it("are added up over all test files, a line once", () =>
    assert.equal(
      coverage("a.ps1/9 1 0\r\na.ps1/9 2 3\nb.ps1/7 1 0\na.ps1/9 1 2\nb.ps1/7 2 0\n"),
      "50.0 % of 4 statements (95 wanted): b.ps1 0 %, a.ps1 100 %",
    ));

  const shell = findShell();
  const reason = `no PowerShell (${shells.join(", ")}) on PATH`;

  if (process.env.REQUIRE_PWSH === "1") {
    it("have a PowerShell to run in", () => assert.ok(shell !== undefined, reason));
  }

  const onWindows = process.platform === "win32" ? ["smoke.windows.ps1"] : [];
  for (const name of [...readdirSync(folder).filter((file) => file.endsWith(".tests.ps1")), ...onWindows])
    it(name, function () {
      if (shell === undefined) skip(this, `${name}: ${reason}`);
      this.timeout(300_000);
      const args = ["-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", `${folder}${name}`];
      const { status, stdout, stderr } = spawnSync(shell, args, {
        encoding: "utf8",
        env: { ...process.env, COVERAGE: report },
      });
      assert.equal(status, 0, `${stdout}\n${stderr}`);
      assert.match(stdout.trim().split("\n").at(-1) ?? "", /^[1-9]\d* passed, 0 failed\s*$/);
    });
});
