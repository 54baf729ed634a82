import assert from "node:assert/strict";
import { listOf, mapOf } from "../../plan/program/values.ts";
import { exampleControlPlane } from "../machine/linux/examples.ts";
import { ofType, runStack, specOf } from "../support/mocks.ts";

describe("snapshots of etcd", () => {
  const backup = { controlPlane: JSON.stringify({ backup: { everyHours: 2, keepDays: 90 } }) };

  it("are taken as often as the stack file says", () => {
    const timer = (settings: Readonly<Record<string, string>>) =>
      exampleControlPlane(specOf("aws-dev", settings)).files.find(({ path }) => path.endsWith("/fenestra-etcd-snapshot.timer"))?.content;
    assert.match(timer(backup) ?? "", /=7200$/m);
    assert.match(timer({}) ?? "", /=14400$/m);
  });

  it("are kept as long as it says", async () => {
    const aws = await runStack("aws-dev", backup);
    const days = [...ofType(aws, "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration").values()]
      .flatMap(({ inputs }) => listOf(inputs.rules).map(mapOf))
      .map(({ expiration }) => mapOf(expiration).days);
    assert.ok(days.includes(90), days.join());
    const azure = await runStack("azure-dev", backup);
    const [policy] = [...ofType(azure, "azure-native:storage:ManagementPolicy").values()];
    assert.match(JSON.stringify(policy?.inputs), /"daysAfter\w+":90/);
  });
});
