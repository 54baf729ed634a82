// Sees what nothing faster does: calls and answers of preflight as the clouds' own models have them.
import assert from "node:assert/strict";
import { questions } from "../../../check/account/aws/account.ts";
import { awsNeeds } from "../../../components/gates/account/aws/needs.ts";
import { CallError } from "../../../components/gates/account/question.ts";
import { answerProblems, modelErrors, modelProblems, pythonPackages } from "../../readers/models.ts";
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
    const fine = [...examples.map((stack) => ({ stack })), ...scenes].map((scene) => ({ scene, differences: [] }));
    for (const { scene, differences } of [...fine, ...cases]) {
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
      ["ec2:DescribeRegions", "output", { Regions: [{ OptIn: "x" }] }, 'Regions.0: Unrecognized key: "OptIn"'],
      ["ec2:RunInstances", "input", { MinCount: 1 }, "MaxCount: Invalid input"],
      ["iam:GetRole", "input", { RoleName: "a b" }, "must match pattern"],
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
      ["Microsoft.Authorization/locks/read", { value: [{ properties: { lvl: "x" } }] }, "lvl: there is no such field"],
      ["Microsoft.Nobody/read", {}, "nobody has a model"],
    ] as const)
      assert.ok(answerProblems(packages, right, answer).join().includes(says), right);
  });
});
