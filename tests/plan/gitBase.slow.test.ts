// Sees what nothing faster does: plans of another commit, by git itself.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { UsageError } from "../../cli/exit.ts";
import { openCheckout, planAtRef } from "../../cli/gitBase.ts";
import { suiteFolder } from "../support/suite.ts";

describe("the base of a comparison, by a git ref", () => {
  const folder = suiteFolder();
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", folder, "-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  const here = { repository: folder, program: folder };
  /** A lock file with a package at a version; `own` is the program's. */
  const lock = (version: string, own = "1") =>
    JSON.stringify({ version: own, packages: { "": { version: own }, "node_modules/a": { version } } });
  const left = () => readdirSync(tmpdir()).filter((name) => name.startsWith("fenestra-base-"));
  let others: readonly string[] = [];

  /** A repository whose fenestra says which commit it is, and that fails on the stack `bad`. */
  before(() => {
    git("init", "--quiet");
    mkdirSync(path.join(folder, "cli"));
    mkdirSync(path.join(folder, "node_modules"));
    for (const version of ["one", "two"]) {
      writeFileSync(path.join(folder, "package-lock.json"), lock("1", version));
      const program = `const stack = process.argv[4];
if (stack === "bad") { console.error("The stack configuration has 1 problem:\\n\\nconfig.fenestra:region: is missing"); process.exit(2); }
if (stack === "broken") throw new Error("no such module");
console.log(JSON.stringify({ version: "${version}", args: process.argv.slice(2) })); process.exitCode = 1;`;
      writeFileSync(path.join(folder, "cli", "main.ts"), program);
      git("add", "cli", "package-lock.json");
      git("commit", "--quiet", "-m", version);
      git("tag", version);
    }
    others = left();
  });

  const refused = (ref: string, stack: string, message: RegExp) =>
    assert.rejects(
      () => planAtRef(ref, stack, here),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  afterEach(() => {
    assert.deepEqual(left(), others, "the temporary folder is gone");
    assert.equal(git("worktree", "list").trim().split("\n").length, 1, "the worktree is gone");
  });

  it("is what that commit's version plans, its findings aside", async () => {
    assert.deepEqual(JSON.parse(await planAtRef("one", "aws-dev", here)), {
      version: "one",
      args: ["plan", "--stack", "aws-dev", "--json"],
    });
    assert.equal(JSON.parse(await planAtRef("HEAD", "aws-dev", here)).version, "two");
  });

  it("tells a version that cannot plan the stack, with its reason but no trace", async () => {
    const bad = "The stack configuration has 1 problem:\n\nconfig.fenestra:region: is missing";
    await refused("one", "bad", new RegExp(`^--diff one: that version cannot plan bad: ${bad}$`));
    await refused(
      "one",
      "broken",
      /^--diff one: that version cannot plan broken:[\s\S]*Error: no such module\n(?!\s+at )/,
    );
  });

  it("refuses what is no commit, also if it looks like an option", async () => {
    await refused(
      "none",
      "aws-dev",
      /there is no such file and no such commit; allowed: the plan\.json of an earlier run/,
    );
    await refused("--all", "aws-dev", /no such commit/);
  });

  it("refuses a commit with other packages, and says what to do", async () => {
    writeFileSync(path.join(folder, "package-lock.json"), lock("2"));
    await refused("one", "aws-dev", /package-lock\.json differs there.*npm ci, fenestra plan --json/);
  });

  it("has its own packages when installed, and only when they differ", async () => {
    const installed: string[] = [];
    const options = {
      ...here,
      install: async (tree: string) => {
        installed.push(readFileSync(path.join(tree, "package-lock.json"), "utf8"));
        mkdirSync(path.join(tree, "node_modules"));
      },
    };
    writeFileSync(path.join(folder, "package-lock.json"), lock("2"));
    assert.equal(JSON.parse(await planAtRef("one", "aws-dev", options)).version, "one");
    assert.deepEqual(installed, [lock("1", "one")]);
    writeFileSync(path.join(folder, "package-lock.json"), lock("1"));
    assert.equal(JSON.parse(await planAtRef("one", "aws-dev", options)).version, "one");
    assert.equal(installed.length, 1);
  });

  it("knows its stacks", async () => {
    const stacksAt = async (ref: string) => {
      const checkout = await openCheckout(ref, { ...here, install: async () => undefined });
      checkout.close();
      return checkout.stacks;
    };
    mkdirSync(path.join(folder, "stacks"));
    writeFileSync(path.join(folder, "stacks", "Pulumi.aws-dev.yaml"), "config: {}");
    git("add", "stacks");
    git("commit", "--quiet", "-m", "three");
    assert.deepEqual([await stacksAt("one"), await stacksAt("HEAD")], [[], ["aws-dev"]]);
    writeFileSync(path.join(folder, "package-lock.json"), lock("1"));
    await refused("HEAD", "shop", /^--diff HEAD: that version has no stack shop, so all of it is new$/);
  });
});
