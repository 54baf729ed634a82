import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bareChange, changesJson } from "../../cli/changes/stackChange.ts";
import { needJq, scriptOf } from "./read.ts";

const root = path.join(import.meta.dirname, "../../");

/** In place of GitHub's program: writes each call down, and answers from a file named after method and path. */
const gh = `#!/usr/bin/env node
const fs = require("node:fs"), path = require("node:path");
const args = process.argv.slice(3), folder = path.dirname(process.argv[1]);
const where = args.find((arg) => arg.startsWith("repos/"));
const method = args.includes("--method") ? args[args.indexOf("--method") + 1] : "GET";
const input = args.includes("--input") ? args[args.indexOf("--input") + 1] : undefined;
const body = input === undefined ? undefined : JSON.parse(fs.readFileSync(input === "-" ? 0 : input, "utf8"));
const fields = args.filter((_, at) => args[at - 1] === "-f");
fs.appendFileSync(path.join(folder, "calls"), JSON.stringify({ method, where, fields, body, token: process.env.GH_TOKEN }) + "\\n");
const answer = path.join(folder, encodeURIComponent(method + " " + where));
process.stdout.write(fs.existsSync(answer) ? fs.readFileSync(answer, "utf8") : "[]");
`;

interface Call {
  readonly method: string;
  readonly where: string;
  readonly fields: readonly string[];
  readonly body?: { readonly body?: string; readonly title?: string; readonly state?: string };
}

/** Runs a script as a runner of GitHub does. Returns what it asked of GitHub and what it printed. */
function runScript(
  script: string,
  answers: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): { readonly calls: readonly Call[]; readonly stdout: string } {
  const folder = mkdtempSync(path.join(tmpdir(), "fenestra-script-"));
  try {
    writeFileSync(path.join(folder, "gh"), gh, { mode: 0o755 });
    for (const [call, answer] of Object.entries(answers))
      writeFileSync(path.join(folder, encodeURIComponent(call)), JSON.stringify(answer));
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), content);
    }
    const { status, stdout, stderr } = spawnSync(
      "bash",
      ["-e", "-c", script.replaceAll("node cli/", `node ${root}cli/`)],
      {
        cwd: folder,
        encoding: "utf8",
        env: {
          PATH: `${folder}:${path.dirname(process.execPath)}:${process.env.PATH ?? ""}`,
          RUNNER_TEMP: folder,
          PROGRAM: root,
          REPOSITORY: "o/r",
          GH_TOKEN: "a token",
          ...env,
        },
      },
    );
    assert.equal(status, 0, stderr);
    const calls = path.join(folder, "calls");
    return {
      calls: existsSync(calls)
        ? readFileSync(calls, "utf8")
            .trim()
            .split("\n")
            .map((line): Call => JSON.parse(line))
        : [],
      stdout,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe("the scripts of the workflows", function () {
  this.timeout(60_000);
  before(function () {
    needJq(this);
  });

  describe("post a comment", () => {
    const script = scriptOf("preview-comment.yml comment", "Post the comment");
    const sha = "0123456789abcdef0123456789abcdef01234567";
    const env = {
      RUN_URL: "https://github.com/o/r/actions/runs/7",
      HEAD_OWNER: "forker",
      HEAD_BRANCH: "a b",
      HEAD_SHA: sha,
    };
    const files = { "changes/changes.json": changesJson([bareChange("aws-dev", "same")]) };
    const pulls = {
      "GET repos/o/r/pulls": [
        { number: 4, head: { sha: "f".repeat(40) } },
        { number: 5, head: { sha } },
      ],
    };
    const writes = (calls: readonly Call[]) => calls.filter(({ method }) => method !== "GET");

    it("on the pull request of the commit that was planned", () => {
      const { calls } = runScript(script, pulls, env, files);
      assert.deepEqual(calls[0]?.fields, ["state=open", "head=forker:a b"]);
      const [write, ...more] = writes(calls);
      assert.deepEqual([write?.method, write?.where, more], ["POST", "repos/o/r/issues/5/comments", []]);
      assert.match(write?.body?.body ?? "", /^<!-- fenestra plan -->\n[\s\S]*\| `aws-dev` \| no change \|/);
    });

    it("in place of its last one, and of nobody else's", () => {
      const comments = [
        { id: 1, user: { login: "mallory" }, body: "<!-- fenestra plan -->\nmine" },
        { id: 2, user: { login: "github-actions[bot]" }, body: "another <!-- fenestra plan -->" },
        { id: 3, user: { login: "github-actions[bot]" }, body: "<!-- fenestra plan -->\nold" },
      ];
      const { calls } = runScript(script, { ...pulls, "GET repos/o/r/issues/5/comments": comments }, env, files);
      const written = writes(calls).map(({ method, where }) => [method, where]);
      assert.deepEqual(written, [["PATCH", "repos/o/r/issues/comments/3"]]);
    });

    it("not on a pull request that has moved on", () => {
      const { calls, stdout } = runScript(script, {}, env, files);
      assert.deepEqual(writes(calls), []);
      assert.match(stdout, /No open pull request has this commit any more/);
    });

    it("that says so when the run left no plan", () => {
      const { calls } = runScript(script, pulls, env);
      assert.match(writes(calls)[0]?.body?.body ?? "", /^<!-- fenestra plan -->\nThere is no plan of `0123/);
    });

    it("and take a branch's name for no more than a name", () => {
      const branch = '$(touch owned)`touch owned`";touch owned;"';
      const { calls } = runScript(script, pulls, { ...env, HEAD_BRANCH: branch }, files);
      assert.equal(calls[0]?.fields[1], `head=forker:${branch}`);
    });
  });

  describe("ask for approval", () => {
    const look = scriptOf("deploy.yml look", "Look");
    const summary = (code: number, text: string) => {
      const update = `#!/bin/sh\nmkdir preview\n${text}\nexit ${code}\n`;
      const script = `chmod +x ci/update.sh; (set -e; ${look}) || echo "ended with $?"; cat summary`;
      const env = { STACK: "s", PROGRAM: ".", GITHUB_STEP_SUMMARY: "summary" };
      return runScript(`touch summary\n${script}`, {}, env, { "ci/update.sh": update }).stdout;
    };
    it("of what the preview shows, also before it fails, and of nothing where nothing changes", () => {
      const shown = "## s\n```diff\n~ it\n```\n";
      assert.equal(summary(0, ""), "");
      assert.equal(summary(0, "echo '~ it' > preview/preview.txt"), shown);
      assert.equal(summary(4, "echo '~ it' > preview/preview.txt"), `ended with 4\n${shown}`);
    });

    it("for the stacks that have a preview, in their order", () => {
      const artifacts = ["preview-b", "preview-a", "other"].map((name) => ({ name }));
      const { stdout } = runScript(
        `GITHUB_OUTPUT=out\n${scriptOf("deploy.yml changed", "List")}\ncat out`,
        { "GET repos/o/r/actions/runs/7/artifacts": { artifacts } },
        { RUN: "7", STACKS: '["a","same","b"]' },
      );
      assert.equal(stdout, 'stacks=["a","b"]\n');
    });
  });

  describe("propose patch releases", () => {
    const script = scriptOf("patches.yml propose", "Open or update the pull request");
    const patch = "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-old\n+new\n";
    // A repository with a remote, and afterwards what the branch has there.
    const inRepository = `git init -q -b main . && git init -q --bare remote && git remote add origin ./remote
      echo old > f && git add f && git -c user.name=a -c user.email=a@example.com commit -qm a
      ${script}
      git --git-dir remote show patches:f; git --git-dir remote log -1 --format='%an: %s' patches`;
    const files = { "proposal/patches.diff": patch, "proposal/body.md": "what is newer\n" };
    const pulls = "GET repos/o/r/pulls";
    const env = { OWNER: "o", BASE: "main", REHEARSED: "success" };
    const text = "what is newer\n\nRehearsal with it: success.\n";
    const writes = (calls: readonly Call[]) =>
      calls.filter(({ method }) => method !== "GET").map(({ method, where, body }) => [method, where, body]);

    it("as a branch with one commit and a pull request with the plan's difference in it", () => {
      const { calls, stdout } = runScript(inRepository, {}, env, files);
      assert.match(stdout, /new\ngithub-actions\[bot\]: Take patch releases\n$/);
      const body = { title: "Take patch releases", head: "patches", base: "main", body: text };
      assert.deepEqual(writes(calls), [["POST", "repos/o/r/pulls", body]]);
    });

    it("in the pull request that is open already", () => {
      const { calls } = runScript(inRepository, { [pulls]: [{ number: 9 }] }, env, files);
      assert.deepEqual(writes(calls), [["PATCH", "repos/o/r/pulls/9", { body: text }]]);
    });
  });

  describe("report a drift", () => {
    const script = scriptOf("drift.yml report", "Open, update or close the issue of each stack");
    const env = { RUN: "7/attempts/1", RUN_URL: "https://github.com/o/r/actions/runs/7" };
    const where = "GET repos/o/r/actions/runs/7/attempts/1/jobs";
    const open = "GET repos/o/r/issues?state=open&creator=github-actions%5Bbot%5D&per_page=100";
    const job = (name: string, conclusion: string, compare: string | undefined) => ({
      name,
      conclusion,
      steps: [
        { name: "Set up job", conclusion: "success" },
        ...(compare === undefined ? [] : [{ name: "Compare", conclusion: compare }]),
      ],
    });
    const report = (jobs: readonly unknown[], issues: readonly unknown[]) =>
      runScript(script, { [where]: { jobs }, [open]: issues }, env)
        .calls.filter(({ method }) => method !== "GET")
        .map(({ method, where: path, body }) => [method, path, body?.title ?? body?.state ?? body?.body]);
    const all = [
      job("aws-dev", "success", "success"),
      job("aws-prod", "failure", "failure"),
      job("azure-dev", "failure", undefined),
      job("report", "failure", undefined),
    ];

    it("as an issue for each stack that differs or could not be compared, by its name alone where the workflow is called", () => {
      for (const caller of ["", "drift / "])
        assert.deepEqual(
          report(
            [...all, job("stacks", "success", undefined)].map((each) => ({ ...each, name: caller + each.name })),
            [],
          ),
          [
            ["POST", "repos/o/r/issues", "Drift in aws-prod"],
            ["POST", "repos/o/r/issues", "Drift in azure-dev"],
          ],
        );
    });

    it("in the issue that is open already, and close it when all is well", () => {
      const issues = [
        { number: 10, title: "Drift in aws-dev" },
        { number: 11, title: "Drift in aws-prod" },
        { number: 12, title: "Drift in azure-dev, seen by me" },
      ];
      const [comment, close, update, create, ...more] = report(all, issues);
      assert.deepEqual(comment?.slice(0, 2), ["POST", "repos/o/r/issues/10/comments"]);
      assert.deepEqual(close, ["PATCH", "repos/o/r/issues/10", "closed"]);
      assert.deepEqual(update?.slice(0, 2), ["PATCH", "repos/o/r/issues/11"]);
      assert.match(
        String(update?.[2]),
        /^The cloud differs from what Pulumi has recorded, or the comparison failed: \[/,
      );
      assert.match(
        String(update?.[2]),
        /with `gh workflow run deploy\.yml --field stack=aws-prod`, [\s\S]* What others may write is in docs\/platform\.md\.$/,
      );
      assert.deepEqual(create, ["POST", "repos/o/r/issues", "Drift in azure-dev"]);
      assert.deepEqual(more, []);
    });
  });
});
