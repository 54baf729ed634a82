// Sees what nothing faster does: what real shells complete.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { findPwsh, needsPwsh, runPwsh } from "../support/pwsh.ts";
import { skipIf } from "../support/skip.ts";
import { suiteFolder } from "../support/suite.ts";

const root = path.join(import.meta.dirname, "../..");

/** What is typed before the tab key, and what then stands there. */
const lines = [
  ["pla", "plan"],
  ["plan --stack-d", "plan --stack-dir"],
  ["plan --stack aws-d", "plan --stack aws-dev"],
  ["plan --fail-on war", "plan --fail-on warning"],
  ["plan --out examples/stac", "plan --out examples/stacks"],
  ["schema plan-", "schema plan-diff"],
  ["verify --load-balancer pu", "verify --load-balancer public"],
  ["rehearse --break stray", "rehearse --break stray-request"],
  ["completion power", "completion powershell"],
] as const;

describe("what the tab key completes", function () {
  this.timeout(180_000);
  const folder = suiteFolder();

  /** The typed lines and Enter, in a shell at a terminal that prints the words which a command gets. */
  function typed(shell: string, command: string, rc: string): readonly string[] {
    const file = path.join(folder, "rc");
    writeFileSync(file, rc);
    const input = lines.map(([line]) => `fenestra ${line}\t\n`).join("");
    const { stdout, error } = spawnSync("script", ["-qec", command.replace("FILE", file), "/dev/null"], {
      cwd: root,
      encoding: "utf8",
      input: `${input}exit\n`,
      env: { ...process.env, TERM: "dumb", INPUTRC: "/dev/null", ZDOTDIR: folder },
    });
    assert.equal(error, undefined, shell);
    return [...stdout.matchAll(/^<(.*)>\r?$/gm)].map(([, words = ""]) => words.replace(/[/ ]+$/, ""));
  }

  const completed = lines.map(([, line]) => line);
  const printsWords = `fenestra() { echo "<$*>"; }`;
  const missing = (program: string): string | undefined =>
    spawnSync(program, ["--version"]).error === undefined ? undefined : `${program} is not there`;

  it("is right in bash, also where the script is read twice", function () {
    skipIf(this, missing("script"));
    const load = `source <(${root}/cli/fenestra completion bash)\n`;
    assert.deepEqual(typed("bash", "bash --noprofile --rcfile FILE -i", `${printsWords}\n${load}${load}`), completed);
  });

  it("is right in zsh", function () {
    skipIf(this, missing("script") ?? missing("zsh"));
    const rc = `${printsWords}\nsource <(${root}/cli/fenestra completion zsh)\n`;
    writeFileSync(path.join(folder, ".zshrc"), rc);
    assert.deepEqual(typed("zsh", "zsh -i", rc), completed);
  });

  it("is right in PowerShell", async function () {
    const found = findPwsh();
    if ("missing" in found) {
      skipIf(this, needsPwsh() ? undefined : found.missing);
      assert.fail(found.missing);
    }
    const file = path.join(folder, "complete.ps1");
    writeFileSync(
      file,
      `# A console's own, which this one may lack.
function global:Get-PSReadLineKeyHandler { [pscustomobject]@{ Key = 'Tab'; Function = 'Complete' } }
Set-Location '${root}'
& '${root}/cli/fenestra' completion powershell | Out-String | Invoke-Expression
foreach ($line in ${lines.map(([line]) => `'fenestra ${line}'`).join(", ")}) {
  $found = TabExpansion2 -inputScript $line -cursorColumn $line.Length
  $text = @($found.CompletionMatches)[0].CompletionText
  '<' + ($line.Substring(0, $found.ReplacementIndex) + $text) + '>'
}
`,
    );
    const { output } = await runPwsh(found.shell, ["-File", file], {}, 120);
    const got = [...output.matchAll(/^<fenestra (.*)>\r?$/gm)].map(([, words = ""]) => words.replace(/[/ ]+$/, ""));
    assert.deepEqual(got, completed, output);
  });
});
