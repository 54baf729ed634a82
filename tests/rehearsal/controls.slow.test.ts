import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { simulateCloud } from "../../rehearsal/clouds/clouds.ts";
import { decodeMachine } from "../../rehearsal/run/breakage.ts";
import { breakages } from "../../rehearsal/run/negativeControls.ts";
import { runStack, specOf } from "../support/mocks.ts";

describe("negative controls", function () {
  this.timeout(300_000);
  it("change each something of a cluster", async () => {
    const left = new Set(Object.keys(breakages));
    for (const stack of ["azure-dev", "aws-dev", "azure-cni", "azure-existing", "aws-existing", "aws-restricted"]) {
      const { program } = await runStack(stack);
      const cloud = simulateCloud(program, specOf(stack));
      const machines = cloud.machines.map((machine) => decodeMachine(machine, cloud, undefined));
      for (const name of left) {
        const { payload, mirror, platform } = breakages[name] ?? {};
        const changes = (): boolean =>
          machines.some((machine) => payload !== undefined && !isDeepStrictEqual(payload(machine), machine.payload));
        try {
          if (mirror ?? platform ?? changes()) left.delete(name);
        } catch {
          // Not of this stack.
        }
      }
    }
    assert.deepEqual([...left], []);
  });
});
