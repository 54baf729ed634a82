import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { ConfigError } from "../../components/config/problem.ts";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { requireSameResources } from "../../plan/program/sameResources.ts";
import { arbitraryConfig, arbitraryValidConfig, type PlainConfig, pulumiValues } from "../support/arbitraryConfig.ts";

const entry = fileURLToPath(new URL("../../index.ts", import.meta.url));

/** A whole run of the program takes a good part of a second; thousands of configs are tried without it in tests/config. */
const numRuns = 12;

async function tryProgram(values: PlainConfig): Promise<"ran" | "refused"> {
  const config = pulumiValues(values);
  const simulate = simulatedCloud(placeOf(config), "fake");
  const run = { entry, stack: "random", config, simulate };
  try {
    const preview = await runProgram({ ...run, mode: "unknown-outputs" });
    const program = await runProgram({ ...run, mode: "known-outputs" });
    requireSameResources(preview, program);
    assert.deepEqual(secretsInUserData(program), []);
    if (values.cloud === "aws") {
      for (const { name, userData } of collectAwsMachines(program))
        assert.ok(userData.length <= cloudFacts.aws.machines.userDataBytes, `user data of ${name} has ${userData.length} bytes`);
    }
    return "ran";
  } catch (error) {
    // Anything but one complete error about the config is a bug of ours.
    if (!(error instanceof ConfigError)) throw error;
    assert.ok(error.problems.length > 0);
    return "refused";
  }
}

describe("the program on random stack configs", function () {
  this.timeout(10 * 60_000);

  it("runs in a preview and an update alike, or refuses the config in one error", async () => {
    const seen = { ran: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(arbitraryConfig(), async (values) => {
        seen[await tryProgram(values)] += 1;
      }),
      { numRuns },
    );
    console.log(`      ${seen.ran} ran, ${seen.refused} were refused`);
    assert.equal(seen.ran + seen.refused, numRuns);
  });

  it("runs on a hundred valid ones over all settings", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryValidConfig(), async (values) => {
        assert.equal(await tryProgram(values), "ran");
      }),
      { numRuns: 100 },
    );
  });
});
