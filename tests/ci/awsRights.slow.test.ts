import assert from "node:assert/strict";
import { deployPolicies, driftPolicy, previewPolicy } from "../../ci/awsPolicies.ts";
import type { StackScope } from "../../ci/awsStackScope.ts";
import { purposes } from "../../ci/environments.ts";
import { allows, type Call } from "../../plan/fakes/iam.ts";
import { textOf } from "../../plan/program/values.ts";
import { runSpec, specOf } from "../support/mocks.ts";

const scope = {
  cluster: "aws-dev",
  region: "eu-central-1",
  accountId: "123456789012",
  rolePath: "/",
  permissionsBoundary: "arn:aws:iam::123456789012:policy/boundary",
  bucketArn: "arn:aws:s3:::fenestra-state-aws-dev",
  keyArn: "arn:aws:kms:eu-central-1:123456789012:key/1",
  record: { zone: "Z0123456789ABCDEFGHIJ", name: "api.shop.example.com" },
  pods: { issuer: undefined, rights: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] },
} satisfies StackScope;

describe("the rights of the workflows on AWS", () => {
  const { state, look, resources } = deployPolicies(scope);
  const policies = { preview: previewPolicy(scope), drift: driftPolicy(scope), state, look, resources };

  for (const [name, document] of Object.entries(policies))
    it(`${name}: fit into a policy`, () => {
      assert.ok(JSON.stringify(document).length <= 6144, `${JSON.stringify(document).length} characters`);
      const ids = document.Statement.map(({ Sid }) => Sid);
      assert.equal(new Set(ids).size, ids.length);
      for (const { Sid } of document.Statement) assert.match(Sid, /^[A-Za-z0-9]+$/);
    });

  it("change nothing in a preview or a comparison", () => {
    const reading = /^[a-z0-9]+:(Describe|Get|List|Decrypt)/;
    for (const document of [policies.preview, policies.drift])
      for (const action of document.Statement.flatMap(({ Action }) => Action)) assert.match(action, reading);
  });

  it("are told apart: a wildcard for a resource only where a call knows no other, or a condition narrows it", () => {
    for (const document of Object.values(policies))
      for (const { Sid, Resource, Condition } of document.Statement)
        if (Resource?.includes("*") === true)
          assert.ok(Condition !== undefined || Sid === "LookAtMachinesAndNetwork", `${Sid} on everything`);
  });

  it("let a comparison read every object that a stack makes, with its tags", async () => {
    const spec = specOf("aws-dev", { access: JSON.stringify({ workloadIdentity: {} }) });
    const { program } = await runSpec(spec);
    const objects = program.resources.filter(({ type }) => type === "aws:s3/bucketObjectv2:BucketObjectv2");
    const unread = objects.filter(({ inputs }) => {
      const resource = `arn:aws:s3:::${textOf(inputs.bucket)}/${textOf(inputs.key)}`;
      const actions = ["s3:GetObject", "s3:GetObjectTagging"];
      return !actions.every((action) => allows([policies.drift], { action, resource }));
    });
    assert.deepEqual([objects.length > 4, unread.map(({ name }) => name)], [true, []]);
  });

  const roles = {
    preview: [policies.preview],
    drift: [policies.drift],
    deploy: [state, look, resources],
  };
  const account = "123456789012";
  const region = "eu-central-1";
  const zone = `arn:aws:route53:::hostedzone/${scope.record.zone}`;
  const record = (name: string) => ({
    "route53:ChangeResourceRecordSetsNormalizedRecordNames": name,
    "route53:ChangeResourceRecordSetsRecordTypes": "A",
  });
  const podRole = `arn:aws:iam::${account}:role/aws-dev-shop-orders-1`;
  const bounds = (name: string) => ({ "iam:PermissionsBoundary": `arn:aws:iam::${account}:policy/${name}` });
  const tagged = (cluster: string) => ({ "aws:ResourceTag/fenestra:cluster": cluster });
  const calls: readonly (readonly [Call, readonly (keyof typeof roles)[]])[] = [
    [{ action: "s3:GetObject", resource: `${scope.bucketArn}/.pulumi/stacks/fenestra/aws-dev.json` }, ["preview", "drift", "deploy"]],
    [{ action: "s3:ListBucket", resource: scope.bucketArn }, ["preview", "drift", "deploy"]],
    [{ action: "kms:Decrypt", resource: scope.keyArn }, ["preview", "drift", "deploy"]],
    [{ action: "s3:PutObject", resource: `${scope.bucketArn}/.pulumi/stacks/fenestra/aws-dev.json` }, ["deploy"]],
    [{ action: "s3:DeleteBucket", resource: scope.bucketArn }, []],
    [{ action: "kms:ScheduleKeyDeletion", resource: scope.keyArn }, []],
    [{ action: "kms:DeleteAlias", resource: `arn:aws:kms:${region}:${account}:alias/fenestra-state-aws-dev` }, []],
    // Of another stack.
    [
      {
        action: "s3:GetObject",
        resource: "arn:aws:s3:::fenestra-state-aws-prod-bucket-1/.pulumi/stacks/fenestra/aws-prod.json",
      },
      [],
    ],
    [{ action: "kms:Decrypt", resource: `arn:aws:kms:${region}:${account}:key/2` }, []],
    [
      {
        action: "kms:ScheduleKeyDeletion",
        resource: `arn:aws:kms:${region}:${account}:key/2`,
        context: tagged("aws-prod"),
      },
      [],
    ],
    [{ action: "ssm:GetParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-prod/join` }, []],
    [{ action: "s3:GetObject", resource: "arn:aws:s3:::aws-prod-snapshots-bucket-1/etcd.db" }, []],
    [{ action: "iam:DeleteRole", resource: `arn:aws:iam::${account}:role/aws-prod-control-plane-role-1` }, []],
    // Of the workflows themselves.
    [{ action: "iam:UpdateAssumeRolePolicy", resource: `arn:aws:iam::${account}:role/fenestra-ci-preview-aws-dev` }, []],
    // Of its own cluster.
    [{ action: "ec2:DescribeInstances", resource: "*", context: { "aws:RequestedRegion": region } }, ["drift", "deploy"]],
    [{ action: "ec2:RunInstances", resource: "*", context: { "aws:RequestedRegion": region } }, ["deploy"]],
    [{ action: "ec2:RunInstances", resource: "*", context: { "aws:RequestedRegion": "us-east-1" } }, []],
    [{ action: "s3:GetObject", resource: "arn:aws:s3:::aws-dev-scripts-bucket-1/windows/a.ps1" }, ["drift", "deploy"]],
    [{ action: "s3:GetObject", resource: "arn:aws:s3:::aws-dev-snapshots-bucket-1/etcd.db" }, ["deploy"]],
    [{ action: "s3:GetEncryptionConfiguration", resource: "arn:aws:s3:::aws-dev-snapshots-bucket-1" }, ["drift", "deploy"]],
    [{ action: "ssm:GetParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-dev/join` }, ["drift", "deploy"]],
    [{ action: "ssm:PutParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-dev/join` }, ["deploy"]],
    [
      {
        action: "kms:Decrypt",
        resource: `arn:aws:kms:${region}:${account}:key/3`,
        context: {
          ...tagged("aws-dev"),
          "kms:EncryptionContext:PARAMETER_ARN": `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-dev/join`,
        },
      },
      ["drift", "deploy"],
    ],
    [{ action: "iam:CreateRole", resource: `arn:aws:iam::${account}:role/aws-dev-control-plane-role-1` }, ["deploy"]],
    [
      {
        action: "iam:AttachRolePolicy",
        resource: `arn:aws:iam::${account}:role/aws-dev-control-plane-role-1`,
        context: { "iam:PolicyARN": `arn:aws:iam::${account}:policy/aws-dev-control-plane-machine-1` },
      },
      ["deploy"],
    ],
    [
      {
        action: "iam:AttachRolePolicy",
        resource: `arn:aws:iam::${account}:role/aws-dev-control-plane-role-1`,
        context: { "iam:PolicyARN": "arn:aws:iam::aws:policy/AdministratorAccess" },
      },
      [],
    ],
    ...(["ec2", "lambda"] as const).map((service): (typeof calls)[number] => [
      {
        action: "iam:PassRole",
        resource: `arn:aws:iam::${account}:role/aws-dev-control-plane-role-1`,
        context: { "iam:PassedToService": `${service}.amazonaws.com` },
      },
      service === "ec2" ? ["deploy"] : [],
    ]),
    ...["aws-dev", "aws-prod"].map((cluster): (typeof calls)[number] => [
      { action: "kms:CreateKey", resource: "*", context: { "aws:RequestTag/fenestra:cluster": cluster } },
      cluster === "aws-dev" ? ["deploy"] : [],
    ]),
    // The record of the API, in a zone that is not the cluster's.
    [{ action: "route53:ListResourceRecordSets", resource: zone }, ["drift", "deploy"]],
    [{ action: "route53:ChangeResourceRecordSets", resource: zone, context: record(scope.record.name) }, ["deploy"]],
    [{ action: "route53:ChangeResourceRecordSets", resource: zone, context: record("shop.example.com") }, []],
    [{ action: "route53:DeleteHostedZone", resource: zone }, []],
    [{ action: "route53:GetChange", resource: "arn:aws:route53:::change/C1" }, ["deploy"]],
    // What pods get.
    [
      {
        action: "iam:CreateOpenIDConnectProvider",
        resource: `arn:aws:iam::${account}:oidc-provider/aws-dev-identity-issuer-bucket-1.s3.eu-central-1.amazonaws.com`,
      },
      ["deploy"],
    ],
    [
      {
        action: "iam:CreateOpenIDConnectProvider",
        resource: `arn:aws:iam::${account}:oidc-provider/token.actions.githubusercontent.com`,
      },
      [],
    ],
    [{ action: "iam:PutRolePolicy", resource: podRole }, ["deploy"]],
    [
      {
        action: "iam:AttachRolePolicy",
        resource: podRole,
        context: { "iam:PolicyARN": "arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess" },
      },
      ["deploy"],
    ],
    // The boundary of the stack file and no other, and never none.
    [{ action: "iam:PutRolePermissionsBoundary", resource: podRole, context: bounds("boundary") }, ["deploy"]],
    [{ action: "iam:PutRolePermissionsBoundary", resource: podRole, context: bounds("wider") }, []],
    [{ action: "iam:DeleteRolePermissionsBoundary", resource: podRole }, []],
    [{ action: "iam:CreateUser", resource: `arn:aws:iam::${account}:user/x` }, []],
  ];

  for (const [call, allowed] of calls)
    it(`allow ${call.action} on ${call.resource.replace(/^arn:aws:\w+:/, "")}${call.context === undefined ? "" : ` with ${Object.values(call.context).join(", ")}`}: ${allowed.join(", ") || "nobody"}`, () => {
      const may = purposes.filter((purpose) => allows(roles[purpose], call));
      assert.deepEqual([...may].sort(), [...allowed].sort());
    });
});
