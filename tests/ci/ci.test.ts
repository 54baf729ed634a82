import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { loadConfig } from "../../components/config/load.ts";
import { policies as made, requireRoom, type StackScope } from "../../examples/ci/awsPolicies.ts";
import { ciRoles, preflightActions, requireStacks, rolesOf } from "../../examples/ci/azureRoles.ts";
import { CiConfigError, ciStackOf, loadCiConfig, overlapping } from "../../examples/ci/config.ts";
import { environmentName, purposes, subject } from "../../examples/ci/environments.ts";
import { allows, type Call } from "../../plan/fakes/awsAccess.ts";
import { builtInRoles, rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { rightsAsked } from "../check/account/world.ts";
import { stackConfig } from "../support/stacks.ts";

describe("the subject of a run", () => {
  it("names an environment, with the repository's numbers if it has them", () => {
    assert.equal(
      subject({ name: "octo-org/clusters" }, "preview-aws-dev"),
      "repo:octo-org/clusters:environment:preview-aws-dev",
    );
    assert.equal(
      subject({ name: "octo-org/clusters", ids: { owner: "12", repository: "345" } }, "aws-prod"),
      "repo:octo-org@12/clusters@345:environment:aws-prod",
    );
  });

  it("has no second part of its name", () => {
    assert.equal(subject({ name: "o/r" }, "a:b"), "repo:o/r:environment:a%3Ab");
    assert.notEqual(environmentName("preview", "a"), environmentName("deploy", "a"));
  });
});

const config = {
  "fenestra-ci:repository": "o/r",
  "fenestra-ci:stacks": `["aws-dev"]`,
  "fenestra-ci:stackDir": "stacks",
};

describe("the config of the setup", () => {
  const refused = (over: Readonly<Record<string, string>>, ...messages: readonly RegExp[]) =>
    assert.throws(
      () => loadCiConfig({ ...config, ...over }),
      (error) => error instanceof CiConfigError && messages.every((message) => message.test(error.message)),
    );

  it("knows what a stack gives to pods", () => {
    const of = (stack: string) => ciStackOf(stack, loadConfig(stackConfig(stack))).pods;
    assert.deepEqual(of("azure-logs"), { issuer: undefined, rights: ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"] });
    const [condition = ""] = rolesOf("deploy", {
      pods: { issuer: undefined, rights: ["0000-1"] },
      network: undefined,
    }).flatMap((role) => role.condition ?? []);
    assert.equal(condition.split("0000-1").length, 3, "in both halves");
  });

  it("tells all mistakes at once", () => {
    refused(
      { "fenestra-ci:repository": "https://github.com/o/r", "fenestra-ci:stacks": "aws-dev", "fenestra-ci:more": "1" },
      /fenestra-ci:repository: allowed: OWNER\/NAME/,
      /fenestra-ci:stacks: allowed: a list of stacks/,
      /more/,
    );
    refused({ "fenestra-ci:stacks": `["aws-dev","azure-dev"]` }, /they lie in different places/);
    // The subject of its update is that of aws-dev's preview, which nobody approves.
    assert.equal(environmentName("deploy", "preview-aws-dev"), environmentName("preview", "aws-dev"));
    refused({ "fenestra-ci:stacks": `["aws-dev","preview-aws-dev"]` }, /stacks\.1: allowed: names without preview-/);
  });

  it("knows clusters whose names the rights could not tell apart", () => {
    assert.deepEqual(overlapping(["aws-dev", "aws-prod", "aws-development"]), []);
    assert.deepEqual(overlapping(["aws", "aws-prod"]), ["aws"]);
    // Roles and states of this program begin with fenestra-ci- and fenestra-state-.
    const own = ["fenestra", "fenestra-ci", "fenestra-state", "fenestra-x"];
    assert.deepEqual(overlapping([...own, "fenestral"]), own);
  });

  it("refuses a stack that would write a role, or whose name no container can have", () => {
    const { stacks } = loadCiConfig({ ...config, "fenestra-ci:stacks": `["azure-existing"]` });
    for (const stack of ["Azure-prod", "azure_prod", "az", "a--z"])
      assert.throws(
        () => requireStacks(stacks.map((each) => ({ ...each, stack }))),
        new RegExp(
          `${stack} cannot name .*\n.*${stack} makes a role .* network\\.existing\\.controllerRole .* uuidgen`,
        ),
      );
  });
});

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
  network: undefined,
  diskKeys: [`arn:aws:kms:eu-central-1:123456789012:key/disks`],
} satisfies StackScope;

const { region } = scope;

describe("the rights of the workflows on AWS", () => {
  const { preflight: _, ...updates } = made.deploy(scope);
  const policies = made.preview(scope);
  const longest = { ...scope, cluster: "a".repeat(20), rolePath: `/${"b".repeat(510)}/` };

  for (const [name, document] of Object.entries({ ...made.preview(longest), ...made.deploy(longest) }))
    it(`${name}: fit into a policy`, () => {
      assert.ok(JSON.stringify(document).length <= 6144, `${JSON.stringify(document).length} characters`);
      const ids = document.Statement.map(({ Sid }) => Sid);
      assert.equal(new Set(ids).size, ids.length);
      for (const { Sid } of document.Statement) assert.match(Sid, /^[A-Za-z0-9]+$/);
    });

  it("are refused where AWS would refuse them", () => {
    const rights = Array.from({ length: 150 }, (_, index) => `arn:aws:iam::123456789012:policy/shop/orders-${index}`);
    const spec = loadCiConfig(config);
    const stacks = spec.stacks.map((each) => ({ ...each, stack: "a_b", pods: { issuer: undefined, rights } }));
    requireRoom(spec);
    assert.throws(() => requireRoom({ ...spec, stacks }), /a_b names a bucket.*a_b gives pods more policies/s);
  });

  it("change nothing in a preview", () => {
    for (const document of [policies.preview, policies.preflight])
      for (const action of document.Statement.flatMap(({ Action }) => Action))
        assert.match(action, /^[a-z0-9]+:(Describe|Get|List|Decrypt|Simulate)/);
  });

  it("let preview and update ask all of preflight but what is the deployer's own", () => {
    const rights = [...rightsAsked("aws")].filter((right) => !/RunInstances|AllocateAddress|GetCaller|s3:/.test(right));
    const call = (action: string) => ({
      ...{ action, resource: action === "ssm:GetParameter" ? `arn:aws:ssm:${region}::parameter/aws/service/x` : "*" },
      context: { "aws:RequestedRegion": region },
    });
    for (const documents of [[policies.preview, policies.preflight], Object.values(made.deploy(scope))])
      assert.deepEqual(
        rights.filter((action) => !allows(documents, call(action))),
        [],
      );
  });

  const roles = { preview: [policies.preview], deploy: Object.values(updates) };
  const account = "123456789012";
  const zone = `arn:aws:route53:::hostedzone/${scope.record.zone}`;
  const record = (name: string) => ({
    "route53:ChangeResourceRecordSetsNormalizedRecordNames": name,
    "route53:ChangeResourceRecordSetsRecordTypes": "A",
  });
  const role = `arn:aws:iam::${account}:role/aws-dev-control-plane-role-1`;
  const key = (id: string) => `arn:aws:kms:${region}:${account}:key/${id}`;
  const bounds = (name: string) => ({ "iam:PermissionsBoundary": `arn:aws:iam::${account}:policy/${name}` });
  const tagged = (cluster: string) => ({ "aws:ResourceTag/fenestra:cluster": cluster });
  const asked = { "aws:RequestTag/fenestra:cluster": "aws-dev", "aws:RequestedRegion": region };
  const own = `arn:aws:iam::${account}:policy/aws-dev-control-plane-machine-1`;
  /** What nobody may; ci.slow.test.ts has what a run needs. */
  const refused: readonly Call[] = [
    { action: "s3:DeleteBucket", resource: scope.bucketArn },
    { action: "kms:ScheduleKeyDeletion", resource: scope.keyArn },
    { action: "kms:DeleteAlias", resource: `arn:aws:kms:${region}:${account}:alias/fenestra-state-aws-dev` },
    // Of another stack.
    {
      action: "s3:GetObject",
      resource: "arn:aws:s3:::fenestra-state-aws-prod-bucket-1/.pulumi/stacks/fenestra/aws-prod.json",
    },
    { action: "kms:Decrypt", resource: key("2") },
    { action: "kms:ScheduleKeyDeletion", resource: key("2"), context: tagged("aws-prod") },
    { action: "ssm:GetParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-prod/join` },
    { action: "s3:GetObject", resource: "arn:aws:s3:::aws-prod-snapshots-bucket-1/etcd.db" },
    { action: "iam:DeleteRole", resource: `arn:aws:iam::${account}:role/aws-prod-control-plane-role-1` },
    // A tag that would make somebody else's key the cluster's own.
    { action: "kms:TagResource", resource: key("2"), context: { ...asked, ...tagged("aws-prod") } },
    {
      action: "kms:TagResource",
      resource: scope.keyArn,
      context: { ...asked, "aws:ResourceTag/fenestra:purpose": "ci" },
    },
    { action: "kms:TagResource", resource: key("rds"), context: { ...asked, "kms:ResourceAliases": "alias/orders" } },
    { action: "kms:TagResource", resource: key("2"), context: { ...asked, "aws:RequestedRegion": "us-east-1" } },
    { action: "kms:CreateKey", resource: "*", context: { ...asked, "aws:RequestTag/fenestra:cluster": "aws-prod" } },
    { action: "kms:CreateGrant", resource: scope.diskKeys[0] ?? "" },
    // Of the workflows themselves.
    { action: "iam:UpdateAssumeRolePolicy", resource: `arn:aws:iam::${account}:role/fenestra-ci-preview-aws-dev` },
    { action: "ec2:RunInstances", resource: "*", context: { "aws:RequestedRegion": "us-east-1" } },
    {
      action: "iam:AttachRolePolicy",
      resource: role,
      context: { ...bounds("boundary"), "iam:PolicyARN": "arn:aws:iam::aws:policy/AdministratorAccess" },
    },
    { action: "iam:PassRole", resource: role, context: { "iam:PassedToService": "lambda.amazonaws.com" } },
    { action: "route53:ChangeResourceRecordSets", resource: zone, context: record("shop.example.com") },
    { action: "route53:DeleteHostedZone", resource: zone },
    {
      action: "iam:CreateOpenIDConnectProvider",
      resource: `arn:aws:iam::${account}:oidc-provider/token.actions.githubusercontent.com`,
    },
    // No role without the boundary of the stack file, and never another one or none.
    { action: "iam:CreateRole", resource: role },
    { action: "iam:PutRolePolicy", resource: role, context: bounds("wider") },
    { action: "iam:AttachRolePolicy", resource: role, context: { ...bounds("wider"), "iam:PolicyARN": own } },
    { action: "iam:PutRolePermissionsBoundary", resource: role, context: bounds("wider") },
    { action: "iam:DeleteRolePermissionsBoundary", resource: role },
    { action: "iam:CreateUser", resource: `arn:aws:iam::${account}:user/x` },
  ];

  it("allow nobody what is somebody else's, or too much", () => {
    assert.deepEqual(
      refused.flatMap((call) =>
        purposes.filter((purpose) => allows(roles[purpose], call)).map((purpose) => [purpose, call]),
      ),
      [],
    );
  });

  it("keep the snapshots of etcd from a preview", () => {
    assert.deepEqual(
      purposes.filter((purpose) =>
        allows(roles[purpose], { action: "s3:GetObject", resource: "arn:aws:s3:::aws-dev-snapshots-bucket-1/etcd.db" }),
      ),
      ["deploy"],
    );
  });
});

describe("the rights of the workflows on Azure", () => {
  const missing = (purpose: "preview" | "deploy", more: readonly string[]) => {
    const roles = rolesOf(purpose, { pods: undefined, network: undefined });
    const rights = roles.flatMap(({ role, on }) => (on === "subscription" ? (builtInRoles[ciRoles[role]] ?? []) : []));
    const held = [...rights, { actions: more }].map((each) => ({ scope: "", rights: each }));
    const asked = [...rightsAsked("azure")].filter((right) => right !== "token");
    return asked.filter((action) => !rolesAllow(held, { action, plane: "control", resource: "/" }));
  };

  it("let preview and update ask all that preflight asks", () => {
    assert.deepEqual(missing("preview", preflightActions), []);
    assert.deepEqual(missing("deploy", []), []);
    assert.deepEqual(missing("preview", []), preflightActions);
  });

  it("are not the preview's that preflight judges", () => {
    assert.match(
      readFileSync(new URL("../../.github/workflows/deploy.yml", import.meta.url), "utf8"),
      /preflight .*--deployer "\$AZURE_DEPLOYER_ID"/,
    );
  });
});
