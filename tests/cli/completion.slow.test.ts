// Sees what nothing faster does: what a real shell completes.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
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

  it("is right in bash, also where the script is read twice", function () {
    skipIf(this, spawnSync("script", ["--version"]).error === undefined ? undefined : "script is not there");
    const file = path.join(folder, "rc");
    const load = `source <(${root}/cli/fenestra completion bash)\n`;
    // A terminal's shell, where the command prints the words that it gets.
    writeFileSync(file, `fenestra() { echo "<$*>"; }\n${load}${load}`);
    const input = lines.map(([line]) => `fenestra ${line}\t\n`).join("");
    const { stdout, error } = spawnSync("script", ["-qec", `bash --noprofile --rcfile ${file} -i`, "/dev/null"], {
      cwd: root,
      encoding: "utf8",
      input: `${input}exit\n`,
      env: { ...process.env, TERM: "dumb", INPUTRC: "/dev/null" },
    });
    assert.equal(error, undefined);
    assert.deepEqual(
      [...stdout.matchAll(/^<(.*)>\r?$/gm)].map(([, found = ""]) => found.replace(/[/ ]+$/, "")),
      lines.map(([, line]) => line),
    );
  });
});
