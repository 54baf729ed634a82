import assert from "node:assert/strict";
import { z } from "zod";
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

/** Templates with their default and latest versions. */
const templates = { "lt-1": [2, 3], "lt-2": [1, 7] };

/** What AWS says of a group, by instances, template and refreshes. */
const aws = (template: object, instances: readonly object[], rolls: readonly object[] = []) =>
  rollQuestion({ cloud: "aws", region: "eu-central-1" }, async ({ right, input }) => {
    if (right === "ec2:DescribeLaunchTemplates") {
      const { LaunchTemplateIds } = z.object({ LaunchTemplateIds: z.array(z.enum(["lt-1", "lt-2"])) }).parse(input);
      return {
        LaunchTemplates: LaunchTemplateIds.map((LaunchTemplateId) => {
          const [DefaultVersionNumber, LatestVersionNumber] = templates[LaunchTemplateId];
          return { LaunchTemplateId, DefaultVersionNumber, LatestVersionNumber };
        }),
      };
    }
    assert.match(JSON.stringify(input), /"group"/);
    return right.endsWith("DescribeInstanceRefreshes")
      ? { InstanceRefreshes: rolls }
      : { AutoScalingGroups: [{ AutoScalingGroupName: "group", ...template, Instances: instances }] };
  })("group");

describe("what the cloud says of a roll", () => {
  const [old, now] = [version("2"), version("3")];
  const policy = (LaunchTemplateSpecification: object, ...Overrides: readonly object[]) => ({
    MixedInstancesPolicy: { LaunchTemplate: { LaunchTemplateSpecification, Overrides } },
  });
  const mixed = policy(now);
  const [latest, byDefault] = [version("$Latest"), version("$Default")];
  const other = { LaunchTemplateSpecification: version("$Latest", "lt-2") };
  const typed = (InstanceType: string, template: object) => ({ ...machine(InstanceType, template), InstanceType });
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
    ["the latest version", aws({ LaunchTemplate: latest }, [machine("i-1", now), machine("i-2", latest)]), []],
    [
      "the latest version, while older machines are rolled",
      aws(policy(latest), [machine("i-1", old)], [roll("InProgress", "2026-01-01")]),
      ["machine i-1 is not made of lt-1 version 3", "the roll of group is InProgress"],
    ],
    [
      "a newer version, which AWS does not roll by itself",
      aws({ LaunchTemplate: latest }, [machine("i-1", old)], [roll("Successful", "2026-01-01")]),
      ["machine i-1 is not made of lt-1 version 3"],
    ],
    ["the default version", aws({ LaunchTemplate: byDefault }, [machine("i-1", old)]), []],
    [
      "the default version where none is named",
      aws({ LaunchTemplate: { LaunchTemplateId: "lt-1" } }, [machine("i-1", now)]),
      ["machine i-1 is not made of lt-1 version 2"],
    ],
    [
      "templates by types of machines",
      aws(policy(now, { InstanceType: "a" }, { InstanceType: "b", ...other }), [
        ...[typed("a", now), typed("b", version("7", "lt-2"))],
        ...[typed("a", version("7", "lt-2")), typed("b", now)],
      ]),
      ["machine a is not made of lt-1 version 3", "machine b is not made of lt-2 version 7"],
    ],
    [
      "templates by requirements, each of which may have been any machine's",
      aws(policy(now, { InstanceRequirements: {} }, { InstanceRequirements: {}, ...other }), [
        ...[typed("a", now), typed("b", version("7", "lt-2")), typed("c", version("6", "lt-2"))],
      ]),
      ["machine c is not made of lt-1 version 3 or lt-2 version 7"],
    ],
    [
      "a launch configuration",
      aws({ LaunchConfigurationName: "lc-2" }, [
        ...["lc-1", "lc-2"].map((LaunchConfigurationName) => ({ InstanceId: "i-1", LaunchConfigurationName })),
        machine("i-3", now),
      ]),
      ["machine i-1 is not made of launch configuration lc-2", "machine i-3 is not made of launch configuration lc-2"],
    ],
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

  it("is not waited for where nobody can say what machines are made of", async () => {
    const unknown = { LaunchTemplateId: "lt-1", Version: "$Newest" };
    for (const [template, reason] of [
      [{}, "AWS names no launch template of group"],
      [{ LaunchTemplate: unknown }, "AWS does not say which version $Newest of lt-1 is"],
      [policy(now, { LaunchTemplateSpecification: unknown }), "AWS does not say which version $Newest of lt-1 is"],
    ] as const)
      await assert.rejects(aws(template, [machine("i-1", now)]), new Unasked(reason));
  });

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
