// Sees what nothing faster does: the parts of `up` for a pipeline, with the calls that they make of Pulumi's CLI.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { unread } from "../../cli/up/engine.ts";
import { runStack } from "../support/mocks.ts";
import { suiteFolder } from "../support/suite.ts";

const root = path.join(import.meta.dirname, "../..");

const urn = (type: string, name: string) => `urn:pulumi:aws-dev::fenestra::a:B$${type}::${name}`;
const size = (diffKind = "update") => ({
  op: "update",
  urn: urn("azure-native:compute:VirtualMachineScaleSet", "win"),
  detailedDiff: { "sku.name": { diffKind }, "sku.capacity": { diffKind } },
});
const gone = { op: "replace", urn: urn("aws:ec2/instance:Instance", "cp-0"), keys: ["userData"] };
const resources = [
  { urn: urn("pulumi:pulumi:Stack", "x"), empty: null },
  { urn: gone.urn, replacementTrigger: "of before" },
];
const made = { version: 3, deployment: { resources } };
const nothing = [
  { op: "same", urn: urn("aws:ec2/vpc:Vpc", "network") },
  { op: "update", urn: urn("pulumi:providers:kubernetes", "in-provider") },
];

interface Answers {
  readonly steps?: readonly object[];
  readonly state?: object;
  /** Part of the call that fails; `meanwhile`: somebody else writes the state during the preview. */
  readonly fails?: string;
}

describe("the parts of up for a pipeline", function () {
  this.timeout(300_000);
  const folder = suiteFolder();
  const at = (...names: readonly string[]) => path.join(folder, ...names);
  const env = {
    ...{ PATH: `${folder}:${path.dirname(process.execPath)}:/usr/bin:/bin`, PULUMI_BACKEND_URL: "s3://state" },
    ...{ FOLDER: folder, TMPDIR: folder, HOME: folder },
  };
  before(() => {
    writeFileSync(at("pulumi"), `#!/bin/sh\nexec '${process.execPath}' '${root}/tests/up/pulumi.ts' "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(
      at("Pulumi.yaml"),
      `name: fenestra\nruntime: nodejs\nmain: ${root}/index.ts\nstackConfigDir: stacks\n`,
    );
    mkdirSync(at("stacks"));
    for (const stack of ["aws-dev", "azure-dev"])
      copyFileSync(path.join(root, `stacks/Pulumi.${stack}.yaml`), at(`stacks/Pulumi.${stack}.yaml`));
  });

  /** Runs a part in a project, without a terminal. Returns how it ended, what it said, and its calls of Pulumi. */
  function up(words: string, { steps = [], state = made, fails = "" }: Answers = {}, stack = "aws-dev") {
    rmSync(at("calls"), { force: true });
    writeFileSync(at("steps.json"), JSON.stringify(steps));
    writeFileSync(at("state.json"), JSON.stringify(state));
    const all = [path.join(root, "cli/main.ts"), "up", "--stack", stack, ...words.split(" ")];
    const { status, stdout, stderr } = spawnSync(process.execPath, all, {
      cwd: folder,
      encoding: "utf8",
      env: { ...env, FAILS: fails },
    });
    const calls = existsSync(at("calls")) ? readFileSync(at("calls"), "utf8").trim().split("\n") : [];
    return {
      status,
      said: `${stdout}${stderr}`,
      calls: calls.filter((call) => !/stack (select|history|output)/.test(call)),
    };
  }

  /** What the stand-in says, as a log takes it. */
  const shown = "~ what changes, \u{FFFD}[2J# #vso[task.setvariable]\n: :add-mask::x";
  /** As one reads and previews. */
  const options = `--exclude ${unread.blobs}`;
  const look = [
    "stack export --stack aws-dev",
    `copy: refresh --skip-preview --yes ${options} --run-program=true --suppress-outputs --stack aws-dev`,
    "copy: stack export --stack aws-dev",
    "copy: preview --diff --suppress-outputs --stack aws-dev quickly",
  ];
  const update = [
    "stack export --stack aws-dev",
    "stack import --stack aws-dev",
    "up --yes --skip-preview --suppress-outputs --stack aws-dev",
  ];

  it("preview on a copy of the state which has read the cloud, and name what would be done", () => {
    const { status, said, calls } = up("--preview approved", { steps: [...nothing, size(), gone] });
    assert.deepEqual([status, calls], [0, look], said);
    assert.equal(readFileSync(at("approved/preview.txt"), "utf8"), shown);
    assert.ok(said.includes(shown), said);
    const wanted = [`replace ${gone.urn} userData`, `update ${size().urn} sku.name update sku.capacity update`];
    assert.equal(readFileSync(at("approved/operations.txt"), "utf8"), `${wanted.join("\n")}\n`);
  });

  it("leave no file where nothing would change, and what was said where a preview fails", () => {
    const files = () => ["preview", "operations"].map((name) => existsSync(at(`approved/${name}.txt`)));
    assert.deepEqual([up("--preview approved", { steps: nothing }).status, files()], [0, [false, false]]);
    for (const fails of ["stack export", "copy: refresh", "copy: preview"]) {
      const { status, said } = up("--preview approved", { steps: [gone], fails });
      assert.deepEqual([status, files()], [1, [fails === "copy: preview", false]], said);
      assert.match(said, /fenestra: What an update would do: .*it failed\n$/);
    }
  });

  it("update what was approved with the same options, and end before anything else", () => {
    assert.equal(up("--preview approved", { steps: [size(), gone] }).status, 0);
    // In whatever order the engine comes to them.
    const same = up("--approved approved", { steps: [gone, ...nothing, size()] });
    assert.deepEqual([same.status, same.calls], [0, [...look, ...update]], same.said);
    // The engine's refresh takes the program's triggers of replacement.
    const imported = JSON.parse(readFileSync(at("imported.json"), "utf8"));
    assert.deepEqual(imported, { ...made, deployment: { resources, read: true } });
    for (const steps of [[size("delete"), gone], nothing]) {
      const { status, said, calls } = up("--approved approved", { steps });
      assert.deepEqual([status, calls], [1, look]);
      assert.match(said, /nothing was changed\n[<>] (update|replace) urn/);
    }
    const [failed, elsewhere] = [
      up("--approved approved", { steps: [size(), gone], fails: "up --yes" }),
      up("--approved nowhere", { steps: [gone] }),
    ];
    assert.deepEqual([failed.status, elsewhere.status, elsewhere.calls], [1, 2, []]);
    assert.match(
      failed.said,
      /locked by 1 lock.*\n.*: PULUMI_BACKEND_URL=s3:\/\/state pulumi cancel --stack aws-dev\n$/,
    );
    assert.match(elsewhere.said, /^fenestra: --approved nowhere: .*; allowed: a folder that up --preview has written/);
  });

  it("end where somebody has written the state meanwhile", () => {
    mkdirSync(at("approved"), { recursive: true });
    writeFileSync(at("approved/operations.txt"), `replace ${gone.urn} userData\n`);
    const { status, said, calls } = up("--approved approved", { steps: [gone], fails: "meanwhile" });
    assert.deepEqual([status, calls], [1, [...look, "stack export --stack aws-dev"]]);
    assert.match(said, /the state has changed meanwhile: nothing was changed\n$/);
  });

  it("read nothing before a first update, and no object of Kubernetes to repair an API that is away", () => {
    for (const part of ["--preview approved", "--drift"]) {
      const first = up(part, { state: { version: 3, deployment: {} }, steps: [gone] });
      assert.deepEqual([first.status, first.calls.filter((call) => /refresh/.test(call))], [0, []], first.said);
    }
    assert.deepEqual(
      up("--api-away --preview approved", { steps: [gone] }).calls,
      look.map((call) => call.replace(options, `${options} --exclude ${unread.objects}`)),
    );
  });

  it("compare by night with the options of an update", () => {
    const { status, said, calls } = up("--drift", { fails: "refresh" });
    assert.ok(said.includes(shown), said);
    assert.deepEqual(
      [status, calls],
      [
        1,
        [
          "stack export --stack aws-dev",
          `refresh --stack aws-dev --run-program ${options} --preview-only --expect-no-changes --diff`,
        ],
      ],
    );
    assert.equal(up("--drift").status, 0);
  });

  for (const [what, signals] of [
    ["reader of its output ends by the same Ctrl-C, as tee does", ["SIGINT"]],
    ["terminal is closed", ["SIGHUP", "SIGHUP"]],
    ["reader of its output ends", []],
  ] as const)
    it(`end what is running in its own way where the ${what}`, async () => {
      for (const name of ["begun", "ended"]) rmSync(at(name), { force: true });
      writeFileSync(at("state.json"), JSON.stringify(made));
      const all = [path.join(root, "cli/main.ts"), "up", "--stack", "aws-dev", "--preview", "approved"];
      const child = spawn(process.execPath, all, { cwd: folder, env: { ...env, LASTS: "copy: preview" } });
      while (!existsSync(at("begun")) && child.exitCode === null) await setTimeout(100);
      child.stdout.destroy();
      child.stderr.destroy();
      for (const signal of signals) child.kill(signal);
      assert.deepEqual([(await once(child, "exit"))[0], existsSync(at("ended"))], [130, true]);
    });

  it("name a file that has something else where Pulumi looks for a text", () => {
    for (const [name, line] of [
      ["Pulumi.yaml", "backend: 5"],
      ["stacks/Pulumi.aws-dev.yaml", "encryptedkey: { a: b }"],
    ] as const) {
      const before = readFileSync(at(name), "utf8");
      writeFileSync(at(name), `${before}${line}\n`);
      const { status, said } = up("--plugins");
      writeFileSync(at(name), before);
      assert.match(said, new RegExp(`^fenestra: ${at(name)}: ${line.split(":")[0]}: .*expected .*\n$`));
      assert.equal(status, 2);
    }
  });

  it("fetch the plug-ins of the stack's cloud alone", () => {
    for (const [stack, cloud] of [
      ["aws-dev", "aws"],
      ["azure-dev", "azure-native"],
    ] as const) {
      const { status, calls } = up("--plugins", {}, stack);
      assert.deepEqual(
        [status, calls.map((call) => /^plugin install resource (\S+) \d+\.\d+\.\d+$/.exec(call)?.[1]).toSorted()],
        [0, [cloud, "kubernetes", "random", "tls"].toSorted()],
      );
    }
    assert.equal(up("--plugins", { fails: "plugin install" }).status, 1);
  });
});

/** A pattern of URNs as the engine reads it (pulumi/pulumi v3.259.0, pkg/resource/deploy/deployment.go, `getMatcher`). */
const urns = (glob: string) =>
  new RegExp(
    `^${glob.replace(/[.+?^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, (stars) => (stars === "*" ? "[^:]*" : ".*"))}$`,
  );

describe("what is read before a preview", () => {
  it("leaves out blobs, which ci.slow.test.ts does too, and while the API is away its objects, everywhere alike", async () => {
    const { program } = await runStack("azure-dev", {
      access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
    });
    for (const file of ["components/gates/peersGate.ts", "docs/operations/updates.md"]) {
      assert.deepEqual(
        [
          ...new Set(
            [...readFileSync(path.join(root, file), "utf8").matchAll(/--exclude '([^']+)'/g)].map(([, glob]) => glob),
          ),
        ],
        [unread.objects],
        file,
      );
    }
    for (const [glob, type] of [
      [unread.blobs, /^azure-native:storage:Blob$/],
      [unread.objects, /^kubernetes:/],
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
