import assert from "node:assert/strict";
import { stackNames } from "../../components/config/stackFile.ts";
import type { PropertyMap } from "../../components/gates/resources.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { changedConfigs } from "../plan/changedConfigs.ts";
import { runConfig, runStack } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";
import { armProblems } from "./armTypes.ts";
import { awsInputProblems } from "./awsInputs.ts";
import { pythonPackages } from "./python.ts";

describe("what the clouds' own models say of the program's inputs", function () {
  this.timeout(60 * 60_000);
  let packages = "";
  before(async function () {
    packages = await pythonPackages(this);
  });
  type Config = Readonly<Record<string, string>>;
  const problems = (program: RecordedProgram, config: Config) =>
    config["fenestra:cloud"] === "aws" ? awsInputProblems(packages, program, config) : armProblems(program);
  const told = async (stack: string, config: Config) =>
    problems((await runConfig(stack, config, "known-outputs")).program, config);

  for (const stack of stackNames(testStacks))
    it(`nothing of ${stack}`, async () => assert.deepEqual(await told(stack, stackConfig(stack)), []));

  it("nothing of any setting's change", async () => {
    for (const { what, after } of changedConfigs) assert.deepEqual(await told("changed", after), [], what);
  });

  const changes: readonly (readonly [kind: string, change: () => PropertyMap, says: RegExp])[] = [
    ["aws:ec2/launchTemplate:LaunchTemplate", () => ({ instanceType: "m7i.9xlarge" }), /m7i.9xlarge is none of/],
    ["aws:iam/role:Role", () => ({ path: `/${"a".repeat(600)}/` }), /602 characters; allowed: 1 to 512/],
    ["aws:ec2/vpc:Vpc", () => ({ cidr: "10.0.0.0/16" }), /nobody reads ec2\/vpc:Vpc cidr/],
    ["azure-native:compute:VirtualMachine", () => ({ zones: "1" }), /zones: Invalid input/],
    ["azure-native:network:SecurityRule", () => ({ sourceAddresPrefix: "*" }), /Unrecognized key/],
  ];
  for (const [kind, change, says] of changes)
    it(`but of ${says.source} in ${kind}`, async () => {
      const stack = kind.startsWith("aws:") ? "aws-dev" : "azure-dev";
      const { program } = await runStack(stack);
      const resources = program.resources.map((each) =>
        each.type === kind ? { ...each, inputs: { ...each.inputs, ...change() } } : each,
      );
      assert.match(problems({ ...program, resources }, stackConfig(stack)).join("\n"), says);
    });
});
