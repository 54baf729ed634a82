import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { suiteFolder } from "../support/temporary.ts";
import { needJq } from "./read.ts";

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
