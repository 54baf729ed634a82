// Sees what nothing faster does: every command with the packages of npm ci --omit=dev, and no others.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { commands } from "../../cli/main.ts";
import { packagesOf } from "../../cli/packages.ts";
import { suiteFolder } from "../support/temporary.ts";

const root = path.join(import.meta.dirname, "../../");

describe("the packages of a user", () => {
  const folder = suiteFolder();

  it("are enough for each command, for a plan and for what preflight loads, and the check asks for no more", () => {
    for (const name of ["check", "cli", "components", "examples", "plan", "rehearsal", "stacks", "tools"])
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    for (const name of ["index.ts", "Pulumi.yaml", "package.json", "package-lock.json", "versions.json"])
      cpSync(path.join(root, name), path.join(folder, name));
    const all = packagesOf(readFileSync(path.join(root, "package-lock.json"), "utf8"));
    const kept = Object.entries(all).filter(
      ([name, { dev, optional }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(name) && !dev && !optional,
    );
    for (const [name] of kept) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      if (existsSync(path.join(root, name))) symlinkSync(path.join(root, name), path.join(folder, name));
    }
    const production = Object.entries(all).filter(([name, { dev }]) => name !== "" && !dev);
    writeFileSync(
      path.join(folder, "node_modules/.package-lock.json"),
      JSON.stringify({ packages: Object.fromEntries(production) }),
    );
    const script = `
      import { commands, main } from "./cli/main.ts";
      import { packageProblem, programFolder } from "./cli/packages.ts";
      const screen = { out: () => {}, err: (text) => process.stderr.write(text) };
      if (packageProblem(programFolder)) throw new Error(packageProblem(programFolder));
      for (const name of Object.keys(commands)) if (await main([name, "--help"], screen) !== 0) process.exitCode = 1;
      const { askers } = await import("./check/account/ask.ts");
      await Promise.all(Object.values(askers).map((load) => load()));
      if (await main(["plan", "--stack-dir", "examples/stacks", "--stack", "aws-dev"], screen) !== 0) process.exitCode = 1;
      console.log(Object.keys(commands).length);
      process.exit();`;
    const args = ["--input-type=module-typescript", "--eval", script];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
    assert.deepEqual([status, stdout], [0, `${Object.keys(commands).length}\n`], stderr);
  }).timeout(180_000);
});
