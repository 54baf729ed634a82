// Sees what nothing faster does: what the scripts of Windows do, statement by statement, in PowerShell itself.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findPwsh, needsPwsh, type PwshRun, runPwsh } from "../../support/pwsh.ts";
import { skipIf } from "../../support/skip.ts";
import { suiteFolder } from "../../support/suite.ts";
import { fullPayload } from "../examples.ts";

const folder = path.join(import.meta.dirname, "scripts/");
const components = path.join(import.meta.dirname, "../../../components/");

/** Files with texts and secrets, which the culture of a machine may change: they run where I is not the capital of i. */
const cultured = ["collect-logs", "identity", "join", "report", "sigv4"].map((name) => `${name}.tests.ps1`);
const noCulture = "PowerShell knows no culture but the invariant one: ICU is missing (Debian: libicu72)";

/** Statements of all that tests must run, in percent. */
const wantedCoverage = 95;

/**
 * Share of the statements that some process has run, and the functions with those that none has, most first.
 *
 * @param statements `script function line` of each, by its number
 * @param hits numbers
 */
function coverage(statements: readonly string[], hits: ReadonlySet<number>) {
  const missing = statements.filter((_, number) => !hits.has(number));
  const places = [...Map.groupBy(missing, (statement) => statement.replace(/ \d+$/, ""))]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([place, lines]) => `${place}: ${lines.map((line) => line.split(" ").at(-1)).join(" ")}`);
  const share = (100 * (statements.length - missing.length)) / statements.length;
  return { share, text: `${share.toFixed(1)} % of ${statements.length} statements (${wantedCoverage} wanted)`, places };
}

describe("the PowerShell scripts' own tests", function () {
  this.timeout(1_000_000);
  const found = findPwsh();
  const onWindows = process.platform === "win32" ? ["smoke.windows.ps1"] : [];
  const all = [...readdirSync(folder).filter((file) => file.endsWith(".tests.ps1")), ...onWindows];
  const files = all.map((name) => ({ name, culture: cultured.includes(name) ? "tr-TR" : undefined }));
  const scratch = suiteFolder();
  const counted = path.join(scratch, "counted");
  const payload = path.join(scratch, "payload.json");
  const runs = new Map<object, Promise<PwshRun>>();
  let cultures = false;

  before(async function () {
    if ("missing" in found) return skipIf(this, found.missing, needsPwsh());
    writeFileSync(payload, JSON.stringify(fullPayload()));
    const folders = ["machine/windows/scripts", "podNetworks"].join(",");
    const script = `& '${folder}count.ps1' -Source '${components}' -Target '${counted}' -Folders ${folders}`;
    const { status, output } = await runPwsh(found.shell, ["-Command", script]);
    assert.equal(status, 0, output);
    const probe = await runPwsh(found.shell, ["-Command", "'I'.ToLower([Globalization.CultureInfo] 'tr-TR') -ne 'i'"]);
    cultures = probe.output.includes("True");
  });

  /** The run of a file, which starts here unless the one before has started it: two at once, as a machine has cores. */
  function runOf(file: (typeof files)[number] | undefined): Promise<PwshRun> | undefined {
    if (file === undefined || "missing" in found) return undefined;
    const { name, culture } = file;
    const env = { COVERAGE: counted, CULTURE: cultures ? culture : undefined, PAYLOAD: payload };
    const run = runs.get(file) ?? runPwsh(found.shell, ["-File", `${folder}${name}`], env);
    runs.set(file, run);
    return run;
  }

  for (const [index, file] of files.entries())
    it(file.name, async () => {
      if (file.culture !== undefined && !cultures && needsPwsh()) assert.fail(noCulture);
      const [own] = [runOf(file), runOf(files[index + 1])];
      const { status, output, seconds = 0 } = (await own) ?? {};
      assert.equal(status, 0, output);
      assert.match(output?.trim().split("\n").at(-1) ?? "", /^[1-9]\d* passed, 0 failed\s*$/);
      console.log(`      ${seconds.toFixed(1)} s`);
    });

  it(`run ${wantedCoverage} % of the statements`, () => {
    const statements = readFileSync(path.join(counted, "statements"), "utf8").trim().split(/\r?\n/);
    const hits = readdirSync(path.join(counted, "hits")).flatMap((file) =>
      readFileSync(path.join(counted, "hits", file), "utf8")
        .trim()
        .split(" ")
        .map(Number),
    );
    const { share, text, places } = coverage(statements, new Set(hits));
    console.log(`      ${text}; run by none:\n        ${places.join("\n        ")}`);
    assert.ok(share >= wantedCoverage, text);
  });
});
