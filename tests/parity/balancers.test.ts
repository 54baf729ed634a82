import assert from "node:assert/strict";
import { listOf, mapOf } from "../../components/gates/resources.ts";
import { simulateCloud } from "../../rehearsal/testkit/clouds.ts";
import { exampleControlPlane, fileOf } from "../machine/examples.ts";
import { runSpec, specOf } from "../support/mocks.ts";

describe("the API's load balancers, as the rehearsal has them", () => {
  const both = { path: "/readyz", port: 6443, unhealthyThreshold: 2, failsOpen: true };
  const wanted = {
    aws: { ...both, timeoutMs: 6_000, healthyThreshold: 2, answerDecides: false, endsConnections: true },
    azure: { ...both, timeoutMs: 5_000, healthyThreshold: 1, answerDecides: true, endsConnections: false },
  };
  for (const cloud of ["aws", "azure"] as const)
    it(`check health as the program asks ${cloud} for`, async () => {
      const spec = specOf(`${cloud}-dev`, { access: { public: { allow: ["203.0.113.0/24"] } } });
      const { program } = await runSpec(spec);
      const { balancers } = simulateCloud(program, spec);
      const checks = balancers.map(({ health }) => health);
      assert.deepEqual(checks, [wanted[cloud], wanted[cloud]]);
      // An ending API server answers until they have seen it.
      const [, delay = "0"] =
        /shutdown-delay-duration\n +value: (\d+)s/.exec(
          fileOf(exampleControlPlane(spec), "/etc/fenestra/kubeadm.yaml"),
        ) ?? [];
      const probes = program.resources
        .flatMap(({ inputs }) => [inputs.healthCheck, ...listOf(inputs.probes)])
        .map(mapOf);
      const seconds = probes.flatMap(
        ({ interval, intervalInSeconds = interval, unhealthyThreshold, probeThreshold = unhealthyThreshold }) =>
          intervalInSeconds === undefined ? [] : [Number(intervalInSeconds) * Number(probeThreshold)],
      );
      assert.ok(seconds.length > 0 && Math.max(...seconds) <= Number(delay), `${delay} s, ${seconds}`);
    });
});
