import assert from "node:assert/strict";
import { simulateCloud } from "../../rehearsal/testkit/clouds.ts";
import { runSpec, specOf } from "../support/mocks.ts";

describe("the API's load balancers, as the rehearsal has them", () => {
  const path = "/readyz";
  const wanted = {
    aws: {
      path,
      timeoutMs: 6_000,
      healthyThreshold: 2,
      unhealthyThreshold: 2,
      failsOpen: true,
      answerDecides: false,
      endsConnections: true,
    },
    azure: {
      path,
      timeoutMs: 5_000,
      healthyThreshold: 1,
      unhealthyThreshold: 2,
      failsOpen: true,
      answerDecides: true,
      endsConnections: false,
    },
  };
  for (const cloud of ["aws", "azure"] as const) {
    it(`check health as the program asks ${cloud} for`, async () => {
      const spec = specOf(`${cloud}-dev`, { access: JSON.stringify({ public: { allow: ["203.0.113.0/24"] } }) });
      const { program } = await runSpec(spec);
      const { balancers } = simulateCloud(program, spec);
      assert.deepEqual(
        balancers.map(({ health }) => health),
        [wanted[cloud], wanted[cloud]],
      );
    });
  }
});
