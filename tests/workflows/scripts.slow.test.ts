import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { bareChange, changesJson } from "../../cli/changes/stackChange.ts";
import { goRun } from "../support/skip.ts";
import { needJq, scriptOf, folder as workflowsFolder } from "./read.ts";

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

  it("are right, by actionlint", function () {
    const { status, stdout, stderr } = goRun(this, "tools/readers", "github.com/rhysd/actionlint/cmd/actionlint", [
      "-no-color",
      // GitHub says it of a job since 2026; actionlint 1.7 does not know it.
      ...["-ignore", 'property "workflow_sha" is not defined'],
      ...readdirSync(workflowsFolder).map((file) => path.join(workflowsFolder, file)),
    ]);
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  it("post a comment in place of the last one, and of nobody else's, also when the run left no plan", () => {
    const script = scriptOf("preview.yml comment", "Post the comment");
    const env = {
      ...{ RUN_URL: "https://github.com/o/r/actions/runs/7", HEAD_SHA: "0123456789abcdef0123456789abcdef01234567" },
      ...{ COMMENTS: "repos/o/r/issues/5/comments", COMMENT: "repos/o/r/issues/comments" },
    };
    const files = { "changes/changes.json": changesJson([bareChange("aws-dev", "same")]) };
    const theirs = [
      { id: 1, user: { login: "mallory" }, body: "<!-- fenestra plan -->\nmine" },
      { id: 2, user: { login: "github-actions[bot]" }, body: "another <!-- fenestra plan -->" },
    ];
    const own = { id: 3, user: { login: "github-actions[bot]" }, body: "<!-- fenestra plan -->\nold" };
    const posted = (comments: readonly object[], plan: Readonly<Record<string, string>>) => {
      const { calls } = runScript(script, { "GET repos/o/r/issues/5/comments": comments }, env, plan);
      const [write, ...more] = calls.filter(({ method }) => method !== "GET");
      return [`${write?.method} ${write?.where}`, write?.body?.body ?? "", more.length] as const;
    };
    const [first, text, more] = posted(theirs, files);
    assert.deepEqual([first, more], ["POST repos/o/r/issues/5/comments", 0]);
    assert.match(text, /^<!-- fenestra plan -->\n[\s\S]*\| `aws-dev` \| no change \|/);
    assert.equal(posted([...theirs, own], files)[0], "PATCH repos/o/r/issues/comments/3");
    assert.match(posted([], {})[1], /^<!-- fenestra plan -->\nThere is no plan of `0123/);
  });

  it("ask for approval of what the preview shows, also before it fails, and of nothing where nothing changes", () => {
    const look = scriptOf("deploy.yml look", "Look");
    const summary = (code: number, text: string) => {
      const update = `#!/bin/sh\nmkdir preview\n${text}\nexit ${code}\n`;
      const script = `touch summary; chmod +x examples/ci/update.sh; (set -e; ${look}) || echo "ended with $?"; cat summary`;
      const env = { STACK: "s", PROGRAM: ".", GITHUB_STEP_SUMMARY: "summary" };
      return runScript(script, {}, env, { "examples/ci/update.sh": update }).stdout;
    };
    const shown = "## s\n```diff\n~ it\n```\n";
    assert.equal(summary(0, ""), "");
    assert.equal(summary(0, "echo '~ it' > preview/preview.txt"), shown);
    assert.equal(summary(4, "echo '~ it' > preview/preview.txt"), `ended with 4\n${shown}`);
    const artifacts = ["preview-b", "preview-a", "other"].map((name) => ({ name }));
    const { stdout } = runScript(
      `GITHUB_OUTPUT=out\n${scriptOf("deploy.yml changed", "List")}\ncat out`,
      { "GET repos/o/r/actions/runs/7/artifacts": { artifacts } },
      { RUN: "7", STACKS: '["a","same","b"]' },
    );
    assert.equal(stdout, 'stacks=["a","b"]\n');
  });

  it("keep a token for the state on Azure, renewed, and fail without one", () => {
    const script = scriptOf("deploy.yml up", "Keep a token for the state");
    const curl =
      'n=$(cat asked 2> /dev/null || echo 0); echo $((n + 1)) > asked; [ "$n" != 1 ] && echo "{\\"value\\": \\"t$n\\"}"';
    const env = {
      ...{ GITHUB_ENV: "env", AZURE_CLIENT_ID: "c", AZURE_TENANT_ID: "t" },
      ...{ ACTIONS_ID_TOKEN_REQUEST_URL: "u?v=1", ACTIONS_ID_TOKEN_REQUEST_TOKEN: "r" },
    };
    const run = (of: string) =>
      runScript(
        `mkdir bin; PATH="$PWD/bin:$PATH"; printf '#!/bin/bash\\n%s\\n' ${of} > bin/curl
        printf '#!/bin/bash\\n[ "$(cat asked)" -lt 3 ]\\n' > bin/sleep; chmod +x bin/*
        (set -e; ${script}) || echo "ended with $?"; wait; /bin/sleep 1; cat azure-token; stat -c ' %a' azure-token; cut -d= -f1 env`,
        {},
        env,
      ).stdout;
    // The second answer fails: the first token stays until the third.
    assert.equal(run(`'${curl}'`), "t2 600\nAZURE_CLIENT_ID\nAZURE_TENANT_ID\nAZURE_FEDERATED_TOKEN_FILE\n");
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
