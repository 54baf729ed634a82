import assert from "node:assert/strict";
import path from "node:path";
import { findOperations } from "../../plan/diff/operations.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { fateOf, nextUpdate } from "../../plan/providers/nextUpdate.ts";
import { runConfig } from "../support/mocks.ts";
import { planOf } from "../support/planOf.ts";
import { changedConfigs } from "./changedConfigs.ts";

const entry = path.join(import.meta.dirname, "../../index.ts");

/** A plan holds no secrets, and so cannot see them change. */
const hiding = /^pulumi:providers:kubernetes$|:(Secret|Parameter)$/;

/** Not rehearsed: machines that move into another zone's network, and what goes with a resource group. */
const beyond: Readonly<Record<string, RegExp>> = {
  "aws: `network.zones`, one more where control-plane machines share zones": /belong to different networks/,
  "aws: `network.zones`, another order": /belong to different networks/,
  "azure: `region`": /the cloud refuses this update/,
};

describe("an update that is carried out", function () {
  this.timeout(120_000);

  for (const { what, cloud, before, after } of changedConfigs)
    it(`does what the plan says, ${cloud}: ${what}`, async () => {
      const old = await planOf("s", before);
      const account = old.cluster.accountId;
      const { program } = await runConfig("s", before, "known-outputs");
      const state = new Map(program.resources.map((resource) => [resource.urn, resource]));
      const operations = findOperations(old, (await planOf("s", after, account)).resources);
      const simulate = nextUpdate(simulatedCloud(placeOf(after, account), "fake"), state);
      const update = runProgram({ entry, stack: "s", config: after, mode: "known-outputs", simulate });
      const failure = beyond[`${cloud}: ${what}`];
      if (failure !== undefined) return assert.rejects(update, failure);
      if (operations.some(({ change }) => change === "refused"))
        return assert.rejects(update, /the cloud refuses this update/);
      const { resources } = await update;
      const asked = new Map(resources.map((resource) => [resource.urn, resource]));
      const planned = new Map(operations.map((operation) => [operation.urn, operation]));
      const others = resources.flatMap(({ urn, type, custom, read }) => {
        if (!custom || read !== undefined || !state.has(urn)) return [];
        const { change = "stays", because = [] } = planned.get(urn) ?? {};
        const fate = fateOf(urn, state, asked);
        const same =
          fate === (change === "rolled" ? "changed" : change) ||
          // The plan does not know the outputs of what is replaced.
          change === "may-be-replaced" ||
          (change === "changed" && fate === "stays" && because.length > 0) ||
          (change === "stays" && hiding.test(type));
        return same ? [] : [`${urn}: ${change}, and it is ${fate}`];
      });
      assert.deepEqual(others, []);
    });
});
