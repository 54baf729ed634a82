// Sees what nothing faster does: what the scripts of Windows do, statement by statement, in PowerShell itself.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { packWindowsAzure } from "../../../components/machine/windows/userData.ts";
import { findPwsh, needsPwsh, type PwshRun, runPwsh } from "../../support/pwsh.ts";
import { skipIf } from "../../support/skip.ts";
import { suiteFolder } from "../../support/suite.ts";
import { fullPayload } from "../examples.ts";

const folder = path.join(import.meta.dirname, "scripts/");
const components = path.join(import.meta.dirname, "../../../components/");

/** Statements of all that tests must run, in percent. */
const wantedCoverage = 95;

describe("the PowerShell scripts' own tests", function () {
  this.timeout(1_000_000);
  const found = findPwsh();
  const onWindows = process.platform === "win32" ? ["smoke.windows.ps1"] : [];
  const files = [...readdirSync(folder).filter((file) => file.endsWith(".tests.ps1")), ...onWindows];
  const scratch = suiteFolder();
  const counted = path.join(scratch, "counted");
  const at = (name: string) => path.join(scratch, name);
  const [payload, loader, loaded] = [at("payload.json"), at("loader.ps1"), at("loaded.ps1")];
  const runs = new Map<string, Promise<PwshRun>>();

  before(async function () {
    if ("missing" in found) return skipIf(this, found.missing, needsPwsh());
    writeFileSync(payload, JSON.stringify(fullPayload()));
    const files = [{ path: loaded, content: "exit 7" }];
    writeFileSync(loader, Buffer.from(packWindowsAzure({ kind: "windows", files, entry: loaded }), "base64"));
    const folders = ["machine/windows/scripts", "podNetworks"].join(",");
    const script = `& '${folder}count.ps1' -Source '${components}' -Target '${counted}' -Folders ${folders}`;
    const { status, output } = await runPwsh(found.shell, ["-Command", script]);
    assert.equal(status, 0, output);
  });

  /** The run of a file, which starts here unless the one before has started it: two at once, as a machine has cores. */
  function runOf(file: string | undefined): Promise<PwshRun> | undefined {
    if (file === undefined || "missing" in found) return undefined;
    const env = { COVERAGE: counted, PAYLOAD: payload, LOADER: loader, LOADED: loaded };
    const run = runs.get(file) ?? runPwsh(found.shell, ["-File", `${folder}${file}`], env);
    runs.set(file, run);
    return run;
  }

  for (const [index, file] of files.entries())
    it(file, async () => {
      const [own] = [runOf(file), runOf(files[index + 1])];
      const { status, output, seconds = 0 } = (await own) ?? {};
      assert.equal(status, 0, output);
      assert.match(output?.trim().split("\n").at(-1) ?? "", /^[1-9]\d* passed, 0 failed\s*$/);
      console.log(`      ${seconds.toFixed(1)} s`);
    });

  it(`run ${wantedCoverage} % of the statements`, () => {
    const statements = readFileSync(path.join(counted, "statements"), "utf8").trim().split(/\r?\n/);
    const folder = path.join(counted, "hits");
    const run = new Set(
      readdirSync(folder).flatMap((file) => readFileSync(path.join(folder, file), "utf8").split(" ")),
    );
    const missing = statements.filter((_, number) => !run.has(`${number}`));
    const share = 100 - (100 * missing.length) / statements.length;
    console.log(`      ${share.toFixed(1)} % of ${statements.length} statements; run by none: ${missing.join(", ")}`);
    assert.ok(share >= wantedCoverage);
  });
});
