import assert from "node:assert/strict";
import { stackNames } from "../../components/config/stackFile.ts";
import type { PropertyMap } from "../../components/gates/resources.ts";
import { changedConfigs } from "../plan/changedConfigs.ts";
import { runConfig, runStack } from "../support/mocks.ts";
import { stackConfig, testStacks } from "../support/stacks.ts";
import { armProblems } from "./armTypes.ts";

describe("what Microsoft's own types say of the program's inputs", function () {
  this.timeout(60 * 60_000);
  type Config = Readonly<Record<string, string>>;
  const told = async (stack: string, config: Config) =>
    armProblems((await runConfig(stack, config, "known-outputs")).program);

  for (const stack of stackNames(testStacks).filter((name) => name.startsWith("azure")))
    it(`nothing of ${stack}`, async () => assert.deepEqual(await told(stack, stackConfig(stack)), []));

  it("nothing of any setting's change", async () => {
    for (const { what, cloud, after } of changedConfigs)
      if (cloud === "azure") assert.deepEqual(await told("changed", after), [], what);
  });

  const changes: readonly (readonly [kind: string, change: () => PropertyMap, says: RegExp])[] = [
    ["azure-native:compute:VirtualMachine", () => ({ zones: "1" }), /zones: Invalid input/],
    ["azure-native:network:SecurityRule", () => ({ sourceAddresPrefix: "*" }), /Unrecognized key/],
  ];
  for (const [kind, change, says] of changes)
    it(`but of ${says.source} in ${kind}`, async () => {
      const { program } = await runStack("azure-dev");
      const resources = program.resources.map((each) =>
        each.type === kind ? { ...each, inputs: { ...each.inputs, ...change() } } : each,
      );
      assert.match(armProblems({ ...program, resources }).join("\n"), says);
    });
});
