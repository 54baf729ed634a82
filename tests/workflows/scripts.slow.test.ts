// Sees what nothing faster does: the scripts of the workflows, run by bash.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bareChange } from "../../cli/changes/stackChange.ts";
import { changesJson } from "../../cli/printed.ts";
import { goRun, skipIf } from "../support/skip.ts";
import { suiteFolder } from "../support/suite.ts";
import { scriptOf, folder as workflowsFolder } from "./read.ts";

const root = path.join(import.meta.dirname, "../../");

/** In place of GitHub's program: writes down what changes something, with what it is given, and answers the rest. */
const gh = `gh() {
  case "$*" in
    *--method*--input*) (echo "$*"; cat) >> "$RUNNER_TEMP/told" ;;
    *create*|*edit*|*close*) echo "$*" >> "$RUNNER_TEMP/told" ;;
    *) cat "$RUNNER_TEMP/answer" ;;
  esac
}
export -f gh
`;

describe("the scripts of the workflows", function () {
  this.timeout(60_000);
  const folder = suiteFolder();
  before(function () {
    const problem = "jq is not on PATH; GitHub's runners have it";
    skipIf(this, spawnSync("jq", ["--version"]).status === 0 ? undefined : problem);
  });

  /** Runs a script as a runner of GitHub does. Returns what it told GitHub, or what is asked for instead. */
  function told(script: string, answer: object, env: Readonly<Record<string, string>>, instead = "told") {
    writeFileSync(path.join(folder, "answer"), JSON.stringify(answer));
    const all = `${gh}cd "$RUNNER_TEMP"; rm -rf told out preview; touch told out; (set -eo pipefail; ${script}) || echo "failed" >> told; cat ${instead}`;
    const { stdout } = spawnSync("bash", ["-c", all], {
      encoding: "utf8",
      env: {
        PATH: `${path.dirname(process.execPath)}:${process.env.PATH ?? ""}`,
        ...{ RUNNER_TEMP: folder, PROGRAM: root, REPOSITORY: "o/r" },
        ...{ GITHUB_OUTPUT: "out", GITHUB_STEP_SUMMARY: "out", GH_TOKEN: "a token" },
        ...env,
      },
    });
    return stdout;
  }

  it("are right, by actionlint", function () {
    const { status, stdout, stderr } = goRun(
      this,
      "rehearsal/runtime/readers",
      "github.com/rhysd/actionlint/cmd/actionlint",
      [
        "-no-color",
        // GitHub says it of a job since 2026; actionlint 1.7 does not know it.
        ...["-ignore", 'property "workflow_sha" is not defined'],
        ...readdirSync(workflowsFolder).map((file) => path.join(workflowsFolder, file)),
      ],
    );
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  it("post a comment in place of the last one, and of nobody else's, also when the run left no plan", () => {
    const script = scriptOf("preview.yml comment", "Post the comment");
    const bot = { login: "github-actions[bot]" };
    const theirs = [
      { id: 1, user: { login: "mallory" }, body: "<!-- fenestra plan -->\nmine" },
      { id: 2, user: bot, body: "another <!-- fenestra plan -->" },
    ];
    const env = { COMMENTS: "all", COMMENT: "one", RUN_URL: "https://github.com/o/r/actions/runs/7", HEAD_SHA: "01" };
    assert.match(told(script, [], env), /^api --method POST all [\s\S]*There is no plan of `01/);
    mkdirSync(path.join(folder, "changes"));
    writeFileSync(path.join(folder, "changes/changes.json"), changesJson([bareChange("aws-dev", "same")]));
    assert.match(
      told(script, theirs, env),
      /^api --method POST all [\s\S]*<!-- fenestra plan -->.*`aws-dev` \| no change/,
    );
    assert.match(
      told(script, [...theirs, { id: 3, user: bot, body: "<!-- fenestra plan -->\nold" }], env),
      /^api --method PATCH one\/3 /,
    );
  });

  it("ask for approval of what the preview shows, also before it fails, and of the stacks that have one", () => {
    mkdirSync(path.join(folder, "cli"), { recursive: true });
    const summary = (text: string) => {
      writeFileSync(path.join(folder, "cli/fenestra"), `#!/bin/sh\nmkdir preview\n${text}\n`, { mode: 0o755 });
      return told(scriptOf("deploy.yml look", "Look"), [], { STACK: "s", PROGRAM: "." }, "out told");
    };
    const shown = "## s\n```diff\n~ it\n```\n";
    assert.equal(summary(""), "");
    assert.equal(summary("echo '~ it' > preview/preview.txt"), shown);
    assert.equal(summary("echo '~ it' > preview/preview.txt; exit 4"), `${shown}failed\n`);
    // A tag of somebody's.
    const left = "~ it\n'''\n# @all";
    assert.equal(
      summary("printf '~ it\\n```\\n# @all\\n' > preview/preview.txt"),
      `## s\n\`\`\`diff\n${left}\n\`\`\`\n`,
    );
    writeFileSync(path.join(folder, "cli/fenestra"), "#!/bin/sh\necho '```'; exit 1\n", { mode: 0o755 });
    assert.equal(
      told(scriptOf("deploy.yml look", "Ask"), [], { STACK: "s", PROGRAM: "." }, "out told"),
      "## s\n```\n'''\n```\nfailed\n",
    );
    const artifacts = ["preview-b", "preview-a", "other"].map((name) => ({ name }));
    assert.equal(
      told(scriptOf("deploy.yml changed", "List"), { artifacts }, { RUN: "7", STACKS: '["a","same","b"]' }, "out"),
      'stacks=["a","b"]\n',
    );
  });

  it("go on with the newest commit of the branch alone", () => {
    const script = scriptOf("deploy.yml look", "Go on with the newest commit only");
    const { stdout } = spawnSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" });
    const of = (sha: string) => told(`cd ${root}; gh() { echo ${sha}; }; ${script}`, [], {}, "$RUNNER_TEMP/told");
    assert.equal(of(stdout.trim()), "");
    assert.match(of(stdout.trim().replace(/./, "x")), /^::error::The branch has moved on.*\nfailed\n$/s);
    assert.match(of("''"), /failed\n$/);
  });

  it("keep one issue for each stack that differs or could not be compared, with a way back that works", () => {
    const script = scriptOf("drift.yml drift", "Keep its issue");
    const [other, open] = [10, 11].map((number, at) => ({ number, title: `Drift in aws-dev${at === 0 ? "2" : ""}` }));
    const of = (STATUS: string, ...issues: unknown[]) =>
      told(script, issues, { STATUS, STACK: "aws-dev", RUN_URL: "u" });
    assert.equal(of("success", other), "");
    assert.match(of("success", other, open), /^issue close 11 --comment /);
    assert.match(of("failure", other), /^issue create --title Drift in aws-dev /);
    assert.match(of("failure", other, open), /^issue edit 11 /);
    assert.match(
      of("failure"),
      /--body The cloud .*: u\. .*`gh workflow run deploy\.yml --field stack=aws-dev`.* docs\/platform\.md\.$/m,
    );
  });
});
