// Sees what nothing faster does: the whole command, of every example stack.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stackNames } from "../../components/config/stackFile.ts";
import { reveal, secretsIn, textOf } from "../../components/gates/values.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/cloud.ts";
import { planSchema } from "../../plan/plan.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { replacementRow } from "../../plan/replacement/table.ts";
import { runStack } from "../support/mocks.ts";
import { stackDir, testStacks } from "../support/stacks.ts";
import { fenestra, suiteFolder } from "../support/suite.ts";

/**
 * Types by which machines and pods have their rights. A role of Azure's own stays: its name is unique in a tenant, and
 * what replaces it is another network, which the guard refuses.
 */
const rights = /^(aws:iam\/|azure-native:authorization:RoleAssignment)/;

async function record(stack: string, mode: "unknown-outputs" | "known-outputs") {
  return (await runStack(stack, {}, mode)).program;
}

function secretTexts(program: RecordedProgram) {
  const texts = program.resources
    .flatMap(({ inputs, outputs }) => [...secretsIn(inputs), ...secretsIn(outputs)])
    .map((secret) => textOf(reveal(secret)))
    .filter((text) => text !== undefined);
  return texts.filter((text) => text.length >= 12);
}

describe("fenestra plan", () => {
  const folder = suiteFolder();
  const of = (stack: string, ...more: readonly string[]) => ["plan", ...stackDir, "--stack", stack, ...more];
  const plan = (...more: readonly string[]) => fenestra(...of("aws-dev", ...more));

  for (const stack of stackNames(testStacks))
    it(`takes no right of ${stack} away before what has it`, async () => {
      const program = await record(stack, "known-outputs");
      const made = program.resources.filter(({ custom, read }) => custom && read === undefined);
      for (const { type, name, inputs, options } of made.filter((each) => rights.test(each.type)))
        assert.ok(!(options.deleteBeforeReplace ?? replacementRow(type)?.deletesFirst?.(inputs)), name);
    });

  it("is the same to the byte, and shows no secret", async () => {
    const first = await plan("--json", "--out", folder);
    const second = await plan("--json");
    assert.equal(first.out, second.out);
    assert.equal(readFileSync(path.join(folder, "plan.json"), "utf8"), first.out);
    const secrets = secretTexts(await record("aws-dev", "known-outputs"));
    assert.ok(secrets.length > 10);
    const summary = await plan();
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((file) => file.isFile())
      .map((file) => readFileSync(path.join(file.parentPath, file.name), "utf8"));
    for (const printed of [first.out, summary.out, summary.err, ...files]) {
      // A key, not a script's pattern for one: base64 follows, in a file or in JSON.
      assert.doesNotMatch(printed, /PRIVATE KEY-----(?:\\[rn]|[\r\n])+[A-Za-z0-9+/]/);
      for (const secret of secrets.filter((text) => !text.startsWith("-----BEGIN CERTIFICATE")))
        assert.ok(!printed.includes(secret), "a secret is printed");
    }
  });

  it("plans an encrypted value as present, says so, and shows nothing of it", async () => {
    const stacks = path.join(folder, "stacks");
    mkdirSync(stacks);
    const text = readFileSync(new URL("Pulumi.aws-dev.yaml", testStacks), "utf8");
    const write = (...lines: readonly string[]) =>
      writeFileSync(path.join(stacks, "Pulumi.own.yaml"), `${text}\n${lines.map((line) => `  ${line}\n`).join("")}`);
    const others = ["fenestra:accountId: { secure: v1:qUv8:CCCD }", "other:token: { secure: v1:qUv8:CCCD }"];
    write("fenestra:httpProxy: { secure: v1:qUv8:AAAB }", ...others);
    const { out, err } = await fenestra("plan", "--stack-dir", stacks, "--stack", "own", "--json");
    assert.doesNotMatch(out + err, /qUv8/);
    const made = planSchema.parse(JSON.parse(out));
    assert.ok(
      made.machines.every(({ files }) =>
        files.some(({ content }) => /http:\/\/secret-[0-9a-f]{8}\.invalid:3128/.test(content)),
      ),
    );
    write("fenestra:httpProxy: { secure: v1:qUv8:AAAC }", ...others);
    assert.notDeepEqual(
      planSchema.parse(JSON.parse((await fenestra("plan", "--stack-dir", stacks, "--stack", "own", "--json")).out))
        .machines,
      made.machines,
      "another secret is another machine",
    );
    const places = made.findings.filter(({ id }) => id === "encrypted-value").map(({ level, path: at }) => [level, at]);
    assert.deepEqual(places, [
      ["note", "config.fenestra:accountId"],
      ["note", "config.fenestra:httpProxy"],
    ]);
  });

  it("writes every machine's files as they lie on the machine", async () => {
    await plan("--out", folder);
    const program = await record("aws-dev", "known-outputs");
    const [machine] = collectMachines(program);
    assert.ok(machine);
    for (const file of decodeUserData(machine.userData, awsObjects(program, machine.role)).files)
      assert.equal(readFileSync(path.join(folder, "machines", machine.name, file.path), "utf8"), file.content);
    assert.ok(
      readdirSync(path.join(folder, "machines", "aws-dev-pool-win2022-group", "C", "fenestra")).includes(
        "bootstrap.ps1",
      ),
    );
  });

  it("exits with 1 when a finding is as bad as asked", async () => {
    assert.equal((await plan()).code, 0);
    assert.equal((await plan("--fail-on", "warning")).code, 1);
    assert.match((await plan()).out, /windows-past-upstream-support at config\.fenestra:pools\[1\]\.os/);
  });

  it("tells a mistake in one line with exit code 2", async () => {
    const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [["plan", ...stackDir], /^fenestra: plan needs --stack NAME; allowed: aws-dev, .*azure-prod\n$/],
      [["--versoin"], /did you mean --version; fenestra --help shows what is allowed\n$/],
      [
        ["plan", "--stakc", "aws-dev"],
        /^fenestra: unknown option '--stakc'; did you mean --stack; fenestra plan --help shows what is allowed\n$/,
      ],
      [of("aws-dev", "--out", "/proc/x"), /^fenestra: --out \/proc\/x: ENOENT: .*; allowed: a folder/],
      [
        of("azure-dev", "--diff", path.join(folder, "plan.json")),
        /^fenestra: --diff .*: it is a plan of the stack aws-dev; allowed: one of azure-dev\n$/,
      ],
      [["paln"], /there is no command paln; allowed: .*plan, preflight, rehearse.*; did you mean plan/],
      [of("none"), /\nexamples\/stacks\/Pulumi\.none\.yaml: there is no such stack file/],
    ];
    for (const [args, message] of cases) {
      const { code, out, err } = await fenestra(...args);
      assert.equal(code, 2, args.join(" "));
      assert.equal(out, "");
      assert.match(err, message);
      assert.doesNotMatch(err, /\n\s+at .*:\d+/);
    }
  });
});
