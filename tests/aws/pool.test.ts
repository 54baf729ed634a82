import assert from "node:assert/strict";
import { rollingRange } from "../../components/aws/poolGroup.ts";
import { mapOf } from "../../components/gates/resources.ts";
import type { PoolSpec } from "../../components/model/pools.ts";
import { poolOf, resource, runStack } from "../support/mocks.ts";

const pools = [
  {
    name: "mixed",
    os: "linux",
    size: "m7i.large",
    furtherSizes: ["m6i.large", "m5.large"],
    spot: true,
    onDemand: { base: 1, percentAboveBase: 20 },
  },
  { name: "cheap", os: "linux", spot: true },
  { name: "nested", os: "windows-2025", size: "m8i.xlarge", hyperV: true },
];

const made = await runStack("aws-dev", { pools });

describe("pools on AWS", () => {
  it("grow and shrink while they are replaced as the stack file says, in whole percents, by a tenth and at least one without it", () => {
    const of = (count: number, update?: PoolSpec["update"]) => {
      const { minHealthyPercentage, maxHealthyPercentage } = rollingRange({
        ...poolOf("aws-dev", "linux"),
        count,
        update,
      });
      return [minHealthyPercentage, maxHealthyPercentage];
    };
    for (const [count, update, range] of [
      [0, undefined, [100, 200]],
      [3, undefined, [100, 134]],
      [200, undefined, [100, 110]],
      [200, { maxSurge: 1, maxUnavailable: 0 }, [100, 101]],
      [4, { maxSurge: "10%", maxUnavailable: 0 }, [100, 125]],
      [4, { maxSurge: "50%", maxUnavailable: 1 }, [75, 150]],
      [3, { maxSurge: 0, maxUnavailable: 1 }, [66, 100]],
      [4, { maxSurge: "100%", maxUnavailable: 1 }, [75, 175]],
      [4, { maxSurge: 9, maxUnavailable: "0%" }, [100, 200]],
    ] as const)
      assert.deepEqual(of(count, update), range, JSON.stringify([count, update]));
  });

  const template = (pool: string) =>
    resource(made, "aws:ec2/launchTemplate:LaunchTemplate", `aws-dev-pool-${pool}-template`).inputs;
  const groupOf = (pool: string) => resource(made, "aws:autoscaling/group:Group", `aws-dev-pool-${pool}-group`).inputs;

  it("mix sizes and kinds of purchase by a policy of the group, and then not by the template", () => {
    const { launchTemplate, mixedInstancesPolicy } = groupOf("mixed");
    assert.equal(launchTemplate, undefined);
    const policy = mapOf(mixedInstancesPolicy);
    assert.deepEqual(policy.instancesDistribution, {
      onDemandAllocationStrategy: "prioritized",
      onDemandBaseCapacity: 1,
      onDemandPercentageAboveBaseCapacity: 20,
      spotAllocationStrategy: "price-capacity-optimized",
    });
    assert.deepEqual(mapOf(policy.launchTemplate).overrides, [
      { instanceType: "m7i.large" },
      { instanceType: "m6i.large" },
      { instanceType: "m5.large" },
    ]);
    assert.equal(template("mixed").instanceMarketOptions, undefined);
  });

  it("are of spot machines by the template, and move off them before they end", () => {
    assert.deepEqual(template("cheap").instanceMarketOptions, { marketType: "spot" });
    assert.deepEqual([groupOf("cheap").mixedInstancesPolicy, groupOf("cheap").capacityRebalance], [undefined, true]);
  });

  it("nest virtual machines where containers with Hyper-V run", () => {
    const options = ["nested", "cheap"].map((pool) => template(pool).cpuOptions);
    assert.deepEqual(options, [{ nestedVirtualization: "enabled" }, undefined]);
  });
});
