import assert from "node:assert/strict";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { logs } from "../kubernetes/switches.ts";
import { ofType, resource, runSpec, specOf } from "../support/mocks.ts";

describe("logs to CloudWatch", () => {
  it("are written with one role, to one group and no other, by tokens of one service account", async () => {
    const stack = specOf("aws-dev", { access: { workloadIdentity: {} } });
    const spec = { ...stack, addons: { ...stack.addons, logs: logs("aws") } };
    const recorded = await runSpec(spec);
    const group = resource(recorded, "aws:cloudwatch/logGroup:LogGroup", "aws-dev-logs-group");
    assert.deepEqual([group.inputs.name, group.inputs.retentionInDays], ["/fenestra/aws-dev", 30]);
    const streams = [...ofType(recorded, "aws:cloudwatch/logStream:LogStream").values()];
    const places = streams.map(({ inputs }) => `${textOf(inputs.logGroupName)}:${textOf(inputs.name)}`);
    const wanted = ["control-plane", "linux", "windows"].map((name) => `/fenestra/aws-dev:${name}`);
    assert.deepEqual(places, wanted);

    const name = "aws-dev-fenestra-monitoring_log-collector";
    const rights = resource(recorded, "aws:iam/rolePolicy:RolePolicy", `${name}-rights`);
    const arn = textOf(group.outputs.arn);
    assert.match(arn ?? "", /^arn:aws:logs:eu-central-1:\d{12}:log-group:\/fenestra\/aws-dev$/);
    assert.deepEqual(JSON.parse(textOf(rights.inputs.policy) ?? "").Statement, [
      {
        Sid: "WriteLogs",
        Effect: "Allow",
        Action: ["logs:PutLogEvents", "logs:DescribeLogStreams"],
        Resource: [arn, `${arn}:log-stream:*`],
      },
    ]);
    const role = resource(recorded, "aws:iam/role:Role", name);
    assert.match(
      textOf(role.inputs.assumeRolePolicy) ?? "",
      /:sub":"system:serviceaccount:fenestra-monitoring:log-collector"/,
    );
    for (const workload of ["log-collector", "log-collector-control-plane", "log-collector-windows"]) {
      const set = resource(recorded, "kubernetes:apps/v1:DaemonSet", `aws-dev-in-logs-fenestra-monitoring-${workload}`);
      const text = JSON.stringify(mapOf(set.inputs.spec));
      assert.ok(text.includes(`"name":"AWS_ROLE_ARN","value":"${textOf(role.outputs.arn)}"`), workload);
      assert.ok(text.includes('"audience":"sts.amazonaws.com"'), workload);
    }
  });
});
