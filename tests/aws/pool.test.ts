import assert from "node:assert/strict";
import path from "node:path";
import { groupTags, rollingRange } from "../../components/aws/poolGroup.ts";
import { groupSize, type PoolSpec } from "../../components/model/pools.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { listOf, mapOf } from "../../plan/program/values.ts";
import { bodies, ofType, poolOf, resource, runStack, specOf } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";

const groupType = "aws:autoscaling/group:Group";
const templateType = "aws:ec2/launchTemplate:LaunchTemplate";
const dev = await runStack("aws-dev");
const prod = await runStack("aws-prod");

describe("pools on AWS", () => {
  it("are groups with a name known beforehand, hooks from the start, and a rolling replacement", () => {
    matchSnapshot(path.join(import.meta.dirname, "snapshots/group.txt"), bodies(dev, /:Group$/, /win2022/));
    const { options } = resource(dev, groupType, "aws-dev-pool-win2022-group");
    assert.deepEqual(options.ignoreChanges, ["initialLifecycleHooks"]);
    assert.deepEqual(options.timeouts, { delete: "60m" });
    assert.equal(options.replacementTrigger, undefined);
  });

  // What they wait for is deleted after them: they drain by the API, and leave by a hook that their role completes.
  it("wait for the gate of the API, their rights and the join secret", () => {
    for (const { name, dependencies } of ofType(dev, groupType).values()) {
      const names = dependencies.map(nameOfUrn);
      for (const before of ["aws-dev-control-plane-api", "aws-dev-secrets-join", "aws-dev-network-private-a"])
        assert.ok(names.includes(before), `${name} after ${before}`);
      assert.ok(names.includes(name.replace(/group$/, "identity-worker")), name);
    }
  });

  it("leave the wanted number to the autoscaler where there is one", () => {
    const ignored = [...ofType(prod, groupType)].map(([name, { options }]) => [
      name,
      options.ignoreChanges.filter((field) => field !== "initialLifecycleHooks").join(),
    ]);
    assert.deepEqual(ignored.sort(), [
      ["aws-prod-pool-linux-group", ""],
      ["aws-prod-pool-win2019-group", "desiredCapacity"],
      ["aws-prod-pool-win2022-a-group", "desiredCapacity"],
      ["aws-prod-pool-win2022-b-group", "desiredCapacity"],
      ["aws-prod-pool-win2022-c-group", "desiredCapacity"],
      ["aws-prod-pool-win2025-group", ""],
    ]);
    assert.deepEqual(groupSize(poolOf("aws-prod", "win2019")), { minSize: 0, desiredCapacity: 0, maxSize: 6 });
  });

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

  it("tell the autoscaler from zero what a node will be, without putting that on machines", () => {
    const template = "k8s.io/cluster-autoscaler/node-template";
    const tags = groupTags(specOf("aws-prod"), poolOf("aws-prod", "win2022-a"));
    const shown = Object.fromEntries(
      tags.map(({ key, value, propagateAtLaunch }) => [key, `${value}${propagateAtLaunch ? " ->" : ""}`]),
    );
    assert.deepEqual(shown, {
      "fenestra:cluster": "aws-prod ->",
      "fenestra:environment": "production ->",
      owner: "platform ->",
      Name: "aws-prod-win2022-a ->",
      "kubernetes.io/cluster/aws-prod": "owned ->",
      "k8s.io/cluster-autoscaler/enabled": "true",
      "k8s.io/cluster-autoscaler/aws-prod": "owned",
      [`${template}/label/kubernetes.io/os`]: "windows",
      [`${template}/label/kubernetes.io/arch`]: "amd64",
      [`${template}/label/node.kubernetes.io/windows-build`]: "10.0.20348",
      [`${template}/label/fenestra.dev/pool`]: "win2022-a",
      [`${template}/taint/os`]: "windows:NoSchedule",
      [`${template}/resources/cpu`]: "3700m",
      [`${template}/resources/memory`]: "12812Mi",
      [`${template}/resources/ephemeral-storage`]: "91732Mi",
    });
    const plain = groupTags(specOf("aws-dev"), poolOf("aws-dev", "linux"));
    const hints = plain.filter(({ key }) => key.startsWith("k8s.io/"));
    assert.deepEqual(hints, []);
    assert.deepEqual(listOf(resource(prod, groupType, "aws-prod-pool-win2022-a-group").inputs.tags), tags);
  });

  it("have machines without a public address, with an encrypted fast disk and no open metadata", () => {
    const { inputs } = resource(prod, templateType, "aws-prod-pool-win2025-template");
    const workers = resource(prod, "aws:ec2/securityGroup:SecurityGroup", "aws-prod-security-workers").id;
    assert.deepEqual(inputs.networkInterfaces, [
      { deviceIndex: 0, associatePublicIpAddress: "false", deleteOnTermination: "true", securityGroups: [workers] },
    ]);
    assert.deepEqual(inputs.blockDeviceMappings, [
      {
        deviceName: "/dev/sda1",
        ebs: {
          ...{ volumeType: "gp3", volumeSize: 120, iops: 3000, throughput: 400, volumeInitializationRate: 200 },
          ...{ encrypted: "true", deleteOnTermination: "true" },
        },
      },
    ]);
    assert.deepEqual(mapOf(inputs.metadataOptions), {
      httpEndpoint: "enabled",
      httpTokens: "required",
      httpPutResponseHopLimit: 1,
      instanceMetadataTags: "disabled",
    });
    assert.deepEqual([inputs.imageId, inputs.instanceType], ["ami-0123456789abcd025", "m8i.xlarge"]);
    assert.deepEqual(inputs.cpuOptions, { nestedVirtualization: "enabled" });
    assert.equal(resource(prod, templateType, "aws-prod-pool-linux-template").inputs.cpuOptions, undefined);
  });
});
