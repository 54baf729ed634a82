import assert from "node:assert/strict";
import { CallError } from "../../components/gates/account/question.ts";
import { rollQuestion } from "../../components/gates/account/start.ts";
import { Unasked } from "../../components/gates/poolGate.ts";

const version = (Version: string, LaunchTemplateId = "lt-1") => ({ LaunchTemplateId, Version });
const machine = (InstanceId: string, LaunchTemplate: object) => ({ InstanceId, LaunchTemplate });
const roll = (Status: string, StartTime?: string, StatusReason?: string) => ({
  Status,
  StatusReason,
  StartTime: StartTime === undefined ? undefined : new Date(StartTime),
});

/** What AWS says of a group, by instances, template and refreshes. */
const aws = (template: object, instances: readonly object[], rolls: readonly object[] = []) =>
  rollQuestion({ cloud: "aws", region: "eu-central-1" }, async ({ right, input }) => {
    assert.match(JSON.stringify(input), /"group"/);
    return right.endsWith("DescribeInstanceRefreshes")
      ? { InstanceRefreshes: rolls }
      : { AutoScalingGroups: [{ AutoScalingGroupName: "group", ...template, Instances: instances }] };
  })("group");

describe("what the cloud says of a roll", () => {
  const [old, now] = [version("2"), version("3")];
  const mixed = { MixedInstancesPolicy: { LaunchTemplate: { LaunchTemplateSpecification: now } } };
  for (const [what, answer, expected] of [
    ["none", aws({ LaunchTemplate: now }, [machine("i-1", now)]), []],
    ["no machines", aws({ LaunchTemplate: now }, []), []],
    [
      "a machine of an older version",
      aws({ LaunchTemplate: now }, [machine("i-1", now), machine("i-2", old)]),
      ["machine i-2 is not made of lt-1 version 3"],
    ],
    [
      "a machine of another template, in a group with a policy",
      aws(mixed, [machine("i-1", version("3", "lt-0"))]),
      ["machine i-1 is not made of lt-1 version 3"],
    ],
    [
      "one that goes on, before its first machine",
      aws(mixed, [machine("i-1", now)], [roll("Successful", "2026-01-01"), roll("Pending")]),
      ["the roll of group is Pending"],
    ],
    [
      "one that failed",
      aws(mixed, [], [roll("Failed", "2026-02-01", "no room"), roll("Successful", "2026-01-01")]),
      ["the roll of group is Failed: no room"],
    ],
    ["an older one that failed", aws(mixed, [], [roll("Failed", "2026-01-01"), roll("Successful", "2026-02-01")]), []],
    [
      "Azure's machines of an older model",
      rollQuestion({ cloud: "azure", region: "westeurope" }, async ({ input }) => {
        assert.equal(input, "/set/virtualMachines?api-version=2024-07-01");
        const value = [true, false].map((latestModelApplied, id) => ({
          instanceId: `${id}`,
          properties: { latestModelApplied },
        }));
        return { value };
      })("/set"),
      ["machine 1 has an older model"],
    ],
  ] as const)
    it(what, async () => assert.deepEqual(await answer, expected));

  it("is not asked without a right or credentials, and asked again when the cloud is busy", async () => {
    const failing = (kind: "denied" | "none", code: string) =>
      rollQuestion({ cloud: "aws", region: "eu-central-1" }, async (call) => {
        throw new CallError(call, kind, code, "no");
      })("group");
    await assert.rejects(failing("denied", "AccessDenied"), (error) => {
      assert.ok(error instanceof Unasked);
      assert.equal(error.message, "it needs autoscaling:DescribeAutoScalingGroups");
      return true;
    });
    await assert.rejects(failing("none", "CredentialsProviderError"), Unasked);
    for (const code of ["ThrottlingException", "ECONNRESET", "TimeoutError", "late", "503"])
      await assert.rejects(failing("none", code), CallError);
  });
});
