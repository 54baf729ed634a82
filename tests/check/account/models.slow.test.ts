// Sees what nothing faster does: calls and answers of preflight as the clouds' own models have them.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { questions } from "../../../check/account/aws/account.ts";
import { awsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { CallError } from "../../../components/gates/account/question.ts";
import { answerProblems, modelErrors, modelProblems, pythonPackages } from "../../readers/models.ts";
import { stackDir } from "../../support/stacks.ts";
import { askIn, cloudOf, differing, sendTo } from "./world.ts";

describe("AWS's own models, as botocore has them", function () {
  this.timeout(300_000);
  let packages = "";
  before(async function () {
    packages = await pythonPackages(this);
  });
  const { roomy, examples, scenes, cases } = cloudOf("aws");

  it("take every call of preflight and every answer of its fakes", async () => {
    const found = new Set<string>();
    const seen = new Set<string>();
    const all = [
      ...examples.map((stack) => ({ scene: { stack }, differences: [] })),
      ...scenes.map((scene) => ({ scene, differences: [] })),
      ...cases,
    ];
    for (const { scene, differences } of all) {
      const send = sendTo(differing(roomy, Object.fromEntries(differences)));
      const vetted: typeof send = async (call, signal) => {
        seen.add(call.right);
        const add = (side: "input" | "output", value: unknown) => {
          for (const each of modelProblems(packages, call.right, side, value)) found.add(`${side} ${each}`);
        };
        add("input", call.input);
        try {
          const answer = await send(call, signal);
          add("output", answer);
          return answer;
        } catch (error) {
          const codes = modelErrors(packages, call.right);
          if (error instanceof CallError && error.kind === "refused" && codes.length > 0 && !codes.includes(error.code))
            found.add(`${call.right}: no error ${error.code}; there are ${codes.join()}`);
          throw error;
        }
      };
      await askIn(questions, awsNeeds, "aws-dev", scene, vetted);
    }
    assert.deepEqual([...found].sort(), []);
    assert.ok(seen.size > 30, [...seen].join());
  });

  it("refuse what is not AWS's", () => {
    for (const [right, side, value, says] of [
      ["ec2:DescribeRegions", "output", { Regions: [{ OptIn: "x" }] }, "Regions.0.OptIn: there is no such member"],
      ["ec2:DescribeInstances", "output", { Reservations: {} }, "{} is no list"],
      [
        "ec2:RunInstances",
        "input",
        { MinCount: 1, MaxCount: 1, InstanceType: "m7i.3xlarge" },
        "m7i.3xlarge is none of",
      ],
      ["ec2:RunInstances", "input", { MinCount: 1 }, "MaxCount: is missing"],
      ["iam:GetRole", "input", { RoleName: "a b" }, "does not match"],
      ["iam:GetRole", "input", { RoleName: "a".repeat(65) }, "65 characters; allowed: 1 to 64"],
      ["kms:DescribeKey", "output", { KeyMetadata: { KeyId: "a", KeyState: "Broken" } }, "Broken is none of"],
      ["sts:Nothing", "input", {}, "there is no sts:Nothing"],
    ] as const)
      assert.ok(modelProblems(packages, right, side, value).join().includes(says), right);
  });
});

describe("Microsoft's own models of Azure", function () {
  this.timeout(300_000);
  let packages = "";
  before(async function () {
    packages = await pythonPackages(this);
  });
  const { roomy, cases } = cloudOf("azure");

  it("take every answer of preflight's fakes", async () => {
    const [found, seen] = [new Set<string>(), new Set<string>()];
    for (const { differences } of [{ differences: [] }, ...cases]) {
      const world = differing(roomy, Object.fromEntries(differences));
      for (const [right, given] of Object.entries(world)) {
        const when: unknown = Reflect.get(Object(given), "$when");
        for (const input of ["", ...Object.keys(Object(when))]) {
          const answer = await sendTo(world)({ right, input }, AbortSignal.timeout(1_000)).catch(() => undefined);
          if (right === "token" || answer === undefined) continue;
          seen.add(right);
          for (const each of answerProblems(packages, right, answer)) found.add(each);
        }
      }
    }
    // Azure answers these, though the models lack them: `az vm image show`, which preflight can do without; and the
    // newer restrictions (Azure documentation, "Azure Policy extension for Visual Studio Code").
    assert.deepEqual([...found].map((each) => each.split(/[.:] ?/).at(-2)).sort(), ["effectDetails", "sizeInGb"]);
    assert.ok(seen.size > 15, [...seen].join());
  });

  it("refuse what is not Azure's", () => {
    for (const [right, answer, says] of [
      ["Microsoft.Compute/skus/read", { value: [{ restriction: [] }] }, "restriction: there is no such field"],
      ["Microsoft.Compute/skus/read", { value: [{ zones: 1, locations: "a" }] }, '"a" is no list[str]'],
      ["Microsoft.Authorization/locks/read", { value: [{ properties: { level: 1 } }] }, "1 is no str"],
      ["Microsoft.Authorization/locks/read", { value: [{ properties: { lvl: "x" } }] }, "lvl: there is no such field"],
      ["Microsoft.Nobody/read", {}, "nobody has a model"],
    ] as const)
      assert.ok(answerProblems(packages, right, answer).join().includes(says), right);
  });
});

describe("the SDKs of preflight", () => {
  for (const stack of ["aws-smallest", "azure-private"])
    it(`are not loaded by plan, nor by the program of preview and up: ${stack}`, function () {
      this.timeout(120_000);
      const [cli, hooks] = ["../../../cli/main.ts", "./loading.hooks.ts"].map((name) =>
        fileURLToPath(new URL(name, import.meta.url)),
      );
      const args = ["--import", hooks ?? "", cli ?? "", "plan", "--stack", stack, ...stackDir];
      const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
      assert.equal(status, 0, stderr);
      assert.match(stderr, /seen by the hook: [1-9]/);
      assert.doesNotMatch(stderr, /loaded: .*(@aws-sdk|@azure\/)/);
    });
});
