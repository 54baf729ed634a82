import assert from "node:assert/strict";
import { mapOf } from "../../plan/program/values.ts";
import { ofType, resource, runStack } from "../support/mocks.ts";

const account = "123456789012";
const profile = `arn:aws:iam::${account}:instance-profile/agents`;

const pools = [
  {
    name: "mixed",
    os: "linux",
    size: "m7i.large",
    furtherSizes: ["m6i.large", "m5.large"],
    spot: true,
    onDemand: { base: 1, percentAboveBase: 20 },
    spotMaxPrice: 0.12,
  },
  { name: "cheap", os: "linux", spot: true, spotMaxPrice: 0.05 },
  { name: "win", os: "windows-2022", instanceProfile: profile },
];

const iam = { permissionsBoundary: `arn:aws:iam::${account}:policy/boundary`, rolePath: "/kubernetes/" };
const made = await runStack("aws-dev", { pools, iam });

describe("purchase and placement of pools on AWS", () => {
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
      spotMaxPrice: "0.12",
    });
    assert.deepEqual(mapOf(policy.launchTemplate).overrides, [
      { instanceType: "m7i.large" },
      { instanceType: "m6i.large" },
      { instanceType: "m5.large" },
    ]);
    assert.equal(template("mixed").instanceMarketOptions, undefined);
  });

  it("limit the price of spot machines, and move off them before they end", () => {
    assert.deepEqual(template("cheap").instanceMarketOptions, {
      marketType: "spot",
      spotOptions: { maxPrice: "0.05" },
    });
    assert.deepEqual([groupOf("cheap").mixedInstancesPolicy, groupOf("cheap").capacityRebalance], [undefined, true]);
  });

  it("have no role of ours beside an own profile, and all others the path and the boundary", () => {
    const roles = ofType(made, "aws:iam/role:Role");
    const own = [...roles.keys()].filter((name) => name.includes("-pool-"));
    assert.deepEqual(own, ["aws-dev-pool-mixed-role", "aws-dev-pool-cheap-role"]);
    for (const { inputs } of roles.values()) {
      assert.equal(inputs.path, "/kubernetes/");
      assert.equal(inputs.permissionsBoundary, `arn:aws:iam::${account}:policy/boundary`);
    }
    for (const type of ["aws:iam/policy:Policy", "aws:iam/instanceProfile:InstanceProfile"])
      for (const { inputs } of ofType(made, type).values()) assert.equal(inputs.path, "/kubernetes/");
  });
});
