import assert from "node:assert/strict";
import path from "node:path";
import fc from "fast-check";
import { cloudFacts } from "../../components/model/cloudFacts/cloudFacts.ts";
import { ConfigError } from "../../components/model/problem.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { secretsInUserData } from "../../plan/program/leaks.ts";
import { requireSameResources, runProgram } from "../../plan/program/runProgram.ts";
import { arbitraryConfig, arbitraryValidConfig, type PlainConfig } from "../support/arbitraryConfig.ts";
import { configTexts } from "../support/stacks.ts";

const entry = path.join(import.meta.dirname, "../../index.ts");

async function tryProgram(values: PlainConfig): Promise<"ran" | "refused"> {
  const config = configTexts(values);
  const simulate = simulatedCloud(placeOf(config), "fake");
  const run = { entry, stack: "random", config, simulate };
  try {
    const preview = await runProgram({ ...run, mode: "unknown-outputs" });
    const program = await runProgram({ ...run, mode: "known-outputs" });
    requireSameResources(preview, program);
    assert.deepEqual(secretsInUserData(program), []);
    if (values.cloud === "aws") {
      for (const { name, userData } of collectAwsMachines(program))
        assert.ok(
          userData.length <= cloudFacts.aws.machines.userDataBytes,
          `user data of ${name} has ${userData.length} bytes`,
        );
    }
    return "ran";
  } catch (error) {
    // Anything but one complete error is our bug.
    if (!(error instanceof ConfigError)) throw error;
    assert.ok(error.problems.length > 0);
    return "refused";
  }
}

/**
 * Runs the program on so many valid configs and as many that may be damaged. A run takes a good part of a second;
 * tests/config tries thousands without it.
 */
export function describeRandomRuns(numRuns: number): void {
  describe(`the program on ${numRuns} random stack configs`, function () {
    this.timeout(10 * 60_000);

    it("refuses a config in one error, or runs in a preview and an update alike", async () => {
      await fc.assert(
        fc.asyncProperty(arbitraryConfig(), async (values) => void (await tryProgram(values))),
        { numRuns },
      );
    });

    it("runs on valid ones over all settings", async () => {
      await fc.assert(
        fc.asyncProperty(arbitraryValidConfig, async (values) => assert.equal(await tryProgram(values), "ran")),
        { numRuns },
      );
    });
  });
}
