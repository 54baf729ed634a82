import assert from "node:assert/strict";
import { runStack } from "../support/mocks.ts";
import { bodyProblems, bodyRules } from "./bodyRules.ts";

const dev = await runStack("azure-dev");
const prod = await runStack("azure-prod");
const special = await runStack("azure-dev", {
  name: "a",
  encryptionAtHost: "true",
  access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} },
  pools: [{ name: "win2025xx", os: "windows-2025", spot: true, autoscale: { min: 0, max: 100 } }],
});

describe("the request bodies for Azure", () => {
  it("break no rule that the types miss", () => {
    for (const { program } of [dev, prod, special]) assert.deepEqual(bodyProblems(program), []);
  });

  it("are met by every rule of the table at least once", () => {
    const types = new Set([dev, special].flatMap(({ program }) => program.resources.map(({ type }) => type)));
    for (const kind of Object.keys(bodyRules)) assert.ok(types.has(`azure-native:${kind}`), kind);
  });

  it("would be told of a cloud controller that writes scale sets", () => {
    const resources = dev.program.resources.map((each) =>
      each.name.endsWith("azure-cloud-provider") ? { ...each, inputs: { ...each.inputs, stringData: {} } } : each,
    );
    const told = bodyProblems({ ...dev.program, resources });
    const sets = told.map((text) => text.split(":")[0]);
    const wanted = ["linux", "win2019", "win2022"].map((pool) => `azure-dev-pool-${pool}-group`);
    assert.deepEqual(sets, wanted);
  });
});
