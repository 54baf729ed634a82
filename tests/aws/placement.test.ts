import assert from "node:assert/strict";
import { listOf, mapOf } from "../../plan/program/values.ts";
import { ofType, resource, runStack } from "../support/mocks.ts";

const account = "123456789012";
const key = `arn:aws:kms:eu-central-1:${account}:key/01234567-89ab-cdef-0123-456789abcdef`;
const profile = `arn:aws:iam::${account}:instance-profile/agents`;
const group = (name: string) => `arn:aws:resource-groups:eu-central-1:${account}:group/${name}`;

const pools = [
  {
    name: "mixed",
    os: "linux",
    size: "m7i.large",
    furtherSizes: ["m6i.large", "m5.large"],
    spot: true,
    onDemand: { base: 1, percentAboveBase: 20 },
    spotMaxPrice: 0.12,
    disk: { type: "io2", iops: 4000, encryptionKey: key },
  },
  { name: "cheap", os: "linux", spot: true, spotMaxPrice: 0.05, disk: { throughput: 250 } },
  {
    name: "win",
    os: "windows-2022",
    zones: ["eu-central-1a"],
    capacityReservation: "cr-0123456789abcdef0",
    dedicatedHosts: group("hosts"),
    securityGroups: ["sg-0123456789abcdef0"],
    instanceProfile: profile,
  },
];

const iam = { permissionsBoundary: `arn:aws:iam::${account}:policy/boundary`, rolePath: "/kubernetes/" };
const controlPlane = {
  osDisk: { iops: 3500, throughput: 200, encryptionKey: key },
  etcdDisk: { type: "io2", iops: 4000, encryptionKey: key },
};
const made = await runStack("aws-dev", { pools, iam, controlPlane });

describe("purchase and placement of pools on AWS", () => {
  const template = (pool: string) =>
    resource(made, "aws:ec2/launchTemplate:LaunchTemplate", `aws-dev-pool-${pool}-template`).inputs;
  const groupOf = (pool: string) => resource(made, "aws:autoscaling/group:Group", `aws-dev-pool-${pool}-group`).inputs;

  it("has disks of the control plane as the stack file says", () => {
    const name = "aws-dev-control-plane-0";
    const { type, iops, size, encrypted, kmsKeyId } = resource(made, "aws:ebs/volume:Volume", `${name}-etcd`).inputs;
    assert.deepEqual([type, iops, size, encrypted, kmsKeyId], ["io2", 4000, 20, true, key]);
    const { blockDeviceMappings } = resource(made, "aws:ec2/launchTemplate:LaunchTemplate", `${name}-template`).inputs;
    assert.deepEqual(mapOf(listOf(blockDeviceMappings)[0]).ebs, {
      ...{ volumeType: "gp3", iops: 3500, throughput: 200, volumeSize: 50 },
      ...{ encrypted: "true", kmsKeyId: key, deleteOnTermination: "true" },
    });
  });

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

  it("have the disk that is asked for", () => {
    const disk = (pool: string) => template(pool).blockDeviceMappings;
    const common = { volumeSize: 50, encrypted: "true", deleteOnTermination: "true" };
    assert.deepEqual(disk("mixed"), [
      { deviceName: "/dev/sda1", ebs: { volumeType: "io2", iops: 4000, ...common, kmsKeyId: key } },
    ]);
    assert.deepEqual(disk("cheap"), [
      { deviceName: "/dev/sda1", ebs: { volumeType: "gp3", throughput: 250, ...common } },
    ]);
  });

  it("run on reserved capacity and own hosts, with further groups and an own profile", () => {
    const { capacityReservationSpecification, placement, iamInstanceProfile, networkInterfaces } = template("win");
    assert.deepEqual(capacityReservationSpecification, {
      capacityReservationTarget: { capacityReservationId: "cr-0123456789abcdef0" },
    });
    assert.deepEqual(placement, { tenancy: "host", hostResourceGroupArn: group("hosts") });
    assert.deepEqual(iamInstanceProfile, { arn: profile });
    const workers = resource(made, "aws:ec2/securityGroup:SecurityGroup", "aws-dev-security-workers").id;
    const attached = (Array.isArray(networkInterfaces) ? networkInterfaces : []).map(
      (card) => mapOf(card).securityGroups,
    );
    assert.deepEqual(attached, [[workers, "sg-0123456789abcdef0"]]);
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
