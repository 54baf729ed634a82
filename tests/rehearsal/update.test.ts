import assert from "node:assert/strict";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { plainRequest, type RecordedResource, type ResourceRequest } from "../../plan/program/recorded.ts";
import { nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { stackConfig } from "../support/stacks.ts";

describe("a further update of a stack", function () {
  this.timeout(120_000);

  it("tells a machine that was replaced twice from both before it, also where its resource keeps its id", () => {
    const simulate = simulatedCloud(placeOf(stackConfig("azure-dev")), "fake");
    const machine = (customData: string): ResourceRequest => {
      const inputs = { resourceGroupName: "g", location: "l", vmName: "m", osProfile: { customData } };
      const request = plainRequest({ urn: "urn:m", type: "azure-native:compute:VirtualMachine", name: "m", inputs });
      return { ...request, options: { ...request.options, replaceOnChanges: ["osProfile.customData"] } };
    };
    const state = new Map<string, RecordedResource>();
    const made = ["a", "b", "a"].map((customData) => {
      const request = machine(customData);
      const answer = nextUpdate(simulate, state)(request);
      state.set(request.urn, { ...request, ...answer });
      return answer;
    });
    assert.equal(new Set(made.map(({ id }) => id)).size, 1);
    assert.equal(new Set(made.map(({ outputs }) => outputs.vmId)).size, 3);
  });
});
