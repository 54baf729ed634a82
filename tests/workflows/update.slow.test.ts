// Sees what nothing faster does: the scripts of the workflows, run by bash with an engine's answers.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bareChange, changesJson } from "../../cli/changes/stackChange.ts";
import { runStack } from "../support/mocks.ts";
import { goRun } from "../support/skip.ts";
import { suiteFolder } from "../support/suite.ts";
import { needJq, scriptOf, folder as workflowsFolder } from "./read.ts";

const script = path.join(import.meta.dirname, "../../examples/ci/update.sh");

/** In place of Pulumi: writes each call down, and answers for the stack's state and for a copy of it. */
const pulumi = `#!/bin/bash
own="$(dirname "$0")"
line="$*\${PULUMI_SKIP_CHECKPOINTS:+ quickly}"
copy="\${PULUMI_BACKEND_URL#file://}"
if [ "$copy" = "$PULUMI_BACKEND_URL" ]; then state="$own/state.json"; else
  line="copy: $line"
  jq '{deployment: (.checkpoint | select(.stack == "organization/fenestra/aws-dev").latest)}' "$copy/.pulumi/stacks/fenestra/aws-dev.json" > "$own/copied.json" || exit 91
  state="$own/copied.json"
fi
echo "$line" >> "$own/calls"
[ "$PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION" = true ] || exit 90
if [ "$1 $2" = "$FAILS" ] && [ "$(grep -cxF -- "$line" "$own/calls")" -le "$TIMES" ]; then exit 4; fi
case "$*" in
  refresh*) file="$copy/.pulumi/stacks/fenestra/aws-dev.json"
    jq '(.checkpoint.latest.resources[] | select(.replacementTrigger)).replacementTrigger = "of the program" | .checkpoint.latest.read = true' "$file" > "$file.new" && mv "$file.new" "$file" ;;
  "stack import"*) cp "\${@: -1}" "$own/imported.json" ;;
  stack*) cat "$state" ;;
  preview*--json*) cat "$own/steps.json" ;;
  preview*) echo "~ what changes" ;;
esac
`;
const made = {
  deployment: { resources: [{ urn: "urn:pulumi:aws-dev::fenestra::pulumi:pulumi:Stack::x", empty: null }] },
};
const urn = (type: string, name: string) => `urn:pulumi:aws-dev::fenestra::a:B$${type}::${name}`;
const size = (kind = "update") => ({
  op: "update",
  urn: urn("azure-native:compute:VirtualMachineScaleSet", "win"),
  detailedDiff: { "sku.name": { kind }, "sku.capacity": { kind } },
});
const gone = { op: "replace", urn: urn("aws:ec2/instance:Instance", "cp-0"), replaceReasons: ["userData"] };
const nothing = [
  { op: "same", urn: urn("aws:ec2/vpc:Vpc", "network") },
  { op: "update", urn: urn("pulumi:providers:kubernetes", "in-provider") },
];

interface Answers {
  readonly steps?: readonly object[];
  readonly state?: object;
  /** A command that fails, and how often. */
  readonly fails?: readonly [command: string, times: number];
}

describe("the script that previews and updates", function () {
  this.timeout(60_000);
  const folder = suiteFolder();
  const at = (...names: readonly string[]) => path.join(folder, ...names);
  before(function () {
    needJq(this);
    writeFileSync(at("pulumi"), pulumi, { mode: 0o755 });
    writeFileSync(at("sleep"), "#!/bin/sh\n", { mode: 0o755 });
    writeFileSync(at("Pulumi.yaml"), "name: fenestra\nmain: index.ts\n");
    mkdirSync(at("stacks"));
    for (const cloud of ["aws", "azure"])
      writeFileSync(at(`stacks/Pulumi.${cloud}-dev.yaml`), `config:\n  fenestra:cloud: ${cloud}\n`);
  });

  /** Runs the script in a project. Returns how it ended, what it said, and its calls of Pulumi. */
  function run(
    words: string,
    { steps = [], state = made, fails = ["", 0] }: Answers = {},
    env: NodeJS.ProcessEnv = {},
  ) {
    rmSync(at("calls"), { force: true });
    writeFileSync(at("steps.json"), JSON.stringify({ steps }));
    writeFileSync(at("state.json"), JSON.stringify(state));
    const { status, stdout, stderr } = spawnSync("bash", [script, ...words.split(" ")], {
      cwd: folder,
      encoding: "utf8",
      env: {
        PATH: `${folder}:${path.dirname(process.execPath)}:${process.env.PATH ?? ""}`,
        PROGRAM: path.join(import.meta.dirname, "../.."),
        PULUMI_BACKEND_URL: "s3://state",
        STACK: "aws-dev",
        TMPDIR: folder,
        FAILS: fails[0],
        TIMES: String(fails[1]),
        ...env,
      },
    });
    const calls = existsSync(at("calls"))
      ? readFileSync(at("calls"), "utf8")
          .trim()
          .replace(/--file \S+/, "--file FILE")
          .split("\n")
      : [];
    return { status, said: `${stdout}${stderr}`, calls };
  }

  /** As one reads and previews. */
  const options = "--run-program --exclude **azure-native:storage:Blob::*";
  const look = [
    "stack export --stack aws-dev",
    "copy: stack export --stack aws-dev",
    `copy: refresh --stack aws-dev --non-interactive ${options} --yes --skip-preview --suppress-outputs`,
    "copy: stack export --stack aws-dev",
    "copy: preview --stack aws-dev --non-interactive --diff --suppress-outputs quickly",
    "copy: preview --stack aws-dev --non-interactive --json quickly",
  ];
  const update = [
    "stack export --stack aws-dev",
    "stack import --stack aws-dev --file FILE",
    "up --stack aws-dev --non-interactive --yes --skip-preview --suppress-outputs",
  ];
  const approve = (steps: readonly object[]) => assert.equal(run("preview approved", { steps }).status, 0);

  it("previews on a copy of the state which has read the cloud, and names what would be done", () => {
    const { status, calls } = run("preview approved", { steps: [...nothing, size(), gone] });
    assert.deepEqual([status, calls], [0, look]);
    assert.equal(readFileSync(at("approved/preview.txt"), "utf8"), "~ what changes\n");
    const wanted = [`replace ${gone.urn} userData`, `update ${size().urn} sku.name update sku.capacity update`];
    assert.equal(readFileSync(at("approved/operations.txt"), "utf8"), `${wanted.join("\n")}\n`);
  });

  it("leaves no file where nothing would change, and says so of a preview that fails", () => {
    assert.equal(run("preview same", { steps: nothing }).status, 0);
    assert.ok(!existsSync(at("same/preview.txt")) && !existsSync(at("same/operations.txt")));
    for (const command of ["stack export", "refresh --stack", "preview --stack"])
      assert.equal(run("preview failed", { steps: [gone], fails: [command, 9] }).status, 4, command);
  });

  it("updates what was approved with the same options, and ends before anything else", () => {
    approve([size(), gone]);
    // In whatever order the engine comes to them.
    const same = run("up approved", { steps: [gone, ...nothing, size()] });
    assert.deepEqual([same.status, same.calls], [0, [...look, ...update]]);
    const others = [[gone], [size(), gone, { ...gone, urn: `${gone.urn}1` }], [size("delete"), gone], nothing];
    for (const steps of others) {
      const { status, said, calls } = run("up approved", { steps });
      assert.deepEqual([status, calls], [1, look]);
      assert.match(said, /^[<>] (update|replace) urn[\s\S]*aws-dev is not updated: what would be done/m);
    }
    assert.equal(run("up nowhere", { steps: [gone] }).status, 1);
    assert.equal(run("up approved", { steps: [size(), gone], fails: ["up --stack", 1] }).status, 4);
  });

  it("leaves what replaces a machine as it was, though the engine's refresh takes the program's", () => {
    const state = (trigger: string, more = {}) => ({
      deployment: {
        resources: [...made.deployment.resources, { urn: gone.urn, replacementTrigger: trigger }],
        ...more,
      },
    });
    assert.equal(run("preview approved", { steps: [gone], state: state("of before") }).status, 0);
    assert.equal(run("up approved", { steps: [gone], state: state("of before") }).status, 0);
    assert.deepEqual(JSON.parse(readFileSync(at("imported.json"), "utf8")), state("of before", { read: true }));
  });

  it("reads nothing before a first update, and no object of Kubernetes to repair an API that is away", () => {
    const first = run("preview approved", { state: {}, steps: [gone] });
    assert.deepEqual([first.status, first.calls.filter((call) => /refresh/.test(call))], [0, []]);
    const away = run("preview approved", { steps: [gone] }, { API: "away" });
    assert.deepEqual(
      away.calls,
      look.map((call) => call.replace("Blob::*", "Blob::* --exclude **kubernetes:*/*:*::**")),
    );
  });

  it("compares by night with the options of an update", () => {
    const { status, calls } = run("drift", { fails: ["refresh --stack", 1] });
    const compare = `refresh --stack aws-dev --non-interactive ${options} --preview-only --expect-no-changes --diff`;
    assert.deepEqual([status, calls], [4, ["stack export --stack aws-dev", compare]]);
  });

  it("fetches the plug-ins of the stack's cloud, three times if need be", () => {
    for (const [cloud, other] of [
      ["aws", "azure-native"],
      ["azure-native", "aws"],
    ] as const) {
      const { status, calls } = run("plugins", {}, { STACK: `${cloud.replace("-native", "")}-dev` });
      assert.equal(status, 0);
      const names = calls.map((call) => /^plugin install resource (\S+) \d+\.\d+\.\d+$/.exec(call)?.[1]);
      assert.deepEqual(names.toSorted(), [cloud, "kubernetes", "random", "tls"].toSorted());
      assert.ok(!names.includes(other));
    }
    assert.equal(run("plugins", { fails: ["plugin install", 2] }).status, 0);
    assert.equal(run("plugins", { fails: ["plugin install", 3] }).status, 1);
  });

  it("goes on with the newest commit of the branch alone", () => {
    const git = (...args: readonly string[]) => spawnSync("git", args, { cwd: folder, encoding: "utf8" }).stdout.trim();
    git("init", "-q");
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m", "one");
    const head = git("rev-parse", "HEAD");
    assert.equal(run(`head ${head}`).status, 0);
    const { status, said } = run(`head ${head.replace(/./, "x")}`);
    assert.equal(status, 1);
    assert.match(said, /^The branch has moved on to x/);
  });
});

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
    needJq(this);
  });

  /** Runs a script as a runner of GitHub does. Returns what it told GitHub, or what is asked for instead. */
  function told(script: string, answer: object, env: Readonly<Record<string, string>>, instead = "told"): string {
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
    const own = { id: 3, user: bot, body: "<!-- fenestra plan -->\nold" };
    assert.match(told(script, [...theirs, own], env), /^api --method PATCH one\/3 /);
  });

  it("ask for approval of what the preview shows, also before it fails, and of the stacks that have one", () => {
    mkdirSync(path.join(folder, "examples/ci"), { recursive: true });
    const summary = (text: string) => {
      const update = `#!/bin/sh\nmkdir preview\n${text}\n`;
      writeFileSync(path.join(folder, "examples/ci/update.sh"), update, { mode: 0o755 });
      return told(scriptOf("deploy.yml look", "Look"), [], { STACK: "s", PROGRAM: "." }, "out told");
    };
    const shown = "## s\n```diff\n~ it\n```\n";
    assert.equal(summary(""), "");
    assert.equal(summary("echo '~ it' > preview/preview.txt"), shown);
    assert.equal(summary("echo '~ it' > preview/preview.txt; exit 4"), `${shown}failed\n`);
    const artifacts = ["preview-b", "preview-a", "other"].map((name) => ({ name }));
    const env = { RUN: "7", STACKS: '["a","same","b"]' };
    const stacks = told(scriptOf("deploy.yml changed", "List"), { artifacts }, env, "out");
    assert.equal(stacks, 'stacks=["a","b"]\n');
  });

  it("keep one issue for each stack that differs or could not be compared, with a way back that works", () => {
    const script = scriptOf("drift.yml drift", "Keep its issue");
    const [other, open] = [10, 11].map((number, at) => ({ number, title: `Drift in aws-dev${at === 0 ? "2" : ""}` }));
    const of = (STATUS: string, ...issues: unknown[]) =>
      told(script, issues, { STATUS, STACK: "aws-dev", RUN_URL: "u" });
    const body =
      /--body The cloud .*: u\. .*`gh workflow run deploy\.yml --field stack=aws-dev`.* docs\/platform\.md\.$/m;
    assert.equal(of("success", other), "");
    assert.match(of("success", other, open), /^issue close 11 --comment /);
    assert.match(of("failure", other), /^issue create --title Drift in aws-dev /);
    assert.match(of("failure", other, open), /^issue edit 11 /);
    assert.match(of("failure"), body);
  });
});

/** A pattern of URNs as the engine reads it (pulumi/pulumi v3.259.0, pkg/resource/deploy/deployment.go, `getMatcher`). */
const urns = (glob: string): RegExp =>
  new RegExp(
    `^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, (stars) => (stars === "*" ? "[^:]*" : ".*"))}$`,
  );

/** What a file has Pulumi leave out. */
const excluded = (file: string): readonly string[] =>
  [...readFileSync(new URL(`../../${file}`, import.meta.url), "utf8").matchAll(/--exclude '([^']+)'/g)].map(
    ([, glob = ""]) => glob,
  );

describe("what is read before a preview", () => {
  it("leaves out blobs, which ci.slow.test.ts does too, and while the API is away its objects, everywhere alike", async () => {
    const { program } = await runStack("azure-dev", {
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
    });
    const [blobs = "", objects = ""] = excluded("examples/ci/update.sh");
    for (const file of ["components/gates/peersGate.ts", "docs/operations/updates.md"])
      assert.deepEqual([...new Set(excluded(file))], [objects], file);
    for (const [glob, type] of [
      [blobs, /^azure-native:storage:Blob$/],
      [objects, /^kubernetes:/],
    ] as const) {
      const wanted = program.resources.filter((each) => type.test(each.type));
      assert.ok(wanted.length > 0);
      assert.deepEqual(
        program.resources.filter(({ urn }) => urns(glob).test(urn)),
        wanted,
      );
    }
  });
});
