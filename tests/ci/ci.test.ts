import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { deploySeconds } from "../../ci/aws.ts";
import { deployPolicies, driftPolicy, previewPolicy, trustPolicy } from "../../ci/awsPolicies.ts";
import type { StackScope } from "../../ci/awsStackScope.ts";
import { rolesOf } from "../../ci/azureRoles.ts";
import { CiConfigError, loadCiConfig, overlapping } from "../../ci/config.ts";
import { environmentName, purposes, subject } from "../../ci/environments.ts";
import { roles } from "../../components/azure/roles.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { readStackFile } from "../../components/config/stackFile.ts";
import { documentationAccounts, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { allows, type Call } from "../../plan/fakes/iam.ts";
import type { OutputMode } from "../../plan/program/engine.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { mapOf, textOf } from "../../plan/program/values.ts";
import { deployAws } from "../../stacks/aws.ts";
import { inventory, specOf, withMocks } from "../support/mocks.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { jobs, texts } from "../workflows/read.ts";

const setup = new URL("../../ci/", import.meta.url);
const snapshots = fileURLToPath(new URL("snapshots/", import.meta.url));

const exampleOf = (cloud: Cloud) => ({
  ...readStackFile(cloud, setup),
  "fenestra-ci:stackDir": "tests/stacks",
  "fenestra-ci:repository": "octo-org/clusters",
  "fenestra-ci:repositoryIds": `{"owner":"12","repository":"345"}`,
});

function run(cloud: Cloud, mode: OutputMode = "known-outputs", over: Readonly<Record<string, string>> = {}) {
  const place = { region: cloud === "aws" ? "eu-central-1" : "westeurope", accountId: documentationAccounts[cloud] };
  return runProgram({
    entry: fileURLToPath(new URL("index.ts", setup)),
    project: "fenestra-ci",
    stack: cloud,
    config: { ...exampleOf(cloud), ...over },
    mode,
    simulate: simulatedCloud(place, "fake"),
  });
}

function inputsOf({ resources }: RecordedProgram, type: string, name: string) {
  const found = resources.find((each) => each.type === type && each.name === name);
  assert.ok(found, `${type} ${name}`);
  return found.inputs;
}

const environments = ["dev", "prod"].flatMap((kind) => purposes.map((purpose) => [kind, purpose] as const));

describe("the setup for the workflows", function () {
  this.timeout(60_000);
  const programs = new Map<Cloud, RecordedProgram>();
  before(async () => {
    for (const cloud of ["aws", "azure"] as const) programs.set(cloud, await run(cloud));
  });
  const of = (cloud: Cloud): RecordedProgram => {
    const program = programs.get(cloud);
    assert.ok(program);
    return program;
  };

  for (const cloud of ["aws", "azure"] as const) {
    it(`makes on ${cloud} what the snapshot lists, in a first preview too`, async () => {
      const preview = await run(cloud, "unknown-outputs");
      const shape = ({ resources }: RecordedProgram) => resources.map(({ type, name }) => `${type} ${name}`).sort();
      assert.deepEqual(shape(preview), shape(of(cloud)));
      matchSnapshot(
        path.join(snapshots, `${cloud}.txt`),
        inventory({ program: of(cloud), hooks: new Map() }).replaceAll(documentationAccounts[cloud], "ACCOUNT"),
      );
    });

    it(`tells on ${cloud} the variables of every environment`, () => {
      const { environments: told } = mapOf(of(cloud).outputs);
      matchSnapshot(path.join(snapshots, `${cloud}-environments.json.snap`), `${JSON.stringify(told, null, 2)}\n`);
      const names = environments.map(([kind, purpose]) => environmentName(purpose, `${cloud}-${kind}`));
      assert.deepEqual(Object.keys(mapOf(told)).sort(), names.sort());
    });
  }

  it("trusts on AWS one environment with each role", () => {
    for (const [kind, purpose] of environments) {
      const stack = `aws-${kind}`;
      const role = inputsOf(of("aws"), "aws:iam/role:Role", `fenestra-ci-${purpose}-${stack}`);
      assert.deepEqual(
        JSON.parse(textOf(role.assumeRolePolicy) ?? ""),
        trustPolicy(
          `arn:aws:iam::${documentationAccounts.aws}:oidc-provider/token.actions.githubusercontent.com`,
          `repo:octo-org@12/clusters@345:environment:${environmentName(purpose, stack)}`,
        ),
      );
      assert.equal(role.maxSessionDuration, purpose === "deploy" ? deploySeconds : 3600);
    }
  });

  it("trusts on Azure one environment with each identity", () => {
    for (const [kind, purpose] of environments) {
      const stack = `azure-${kind}`;
      const name = `fenestra-ci-${purpose}-${stack}-github`;
      const credential = inputsOf(of("azure"), "azure-native:managedidentity:FederatedIdentityCredential", name);
      assert.equal(credential.issuer, "https://token.actions.githubusercontent.com");
      assert.equal(credential.subject, `repo:octo-org@12/clusters@345:environment:${environmentName(purpose, stack)}`);
      assert.deepEqual(credential.audiences, ["api://AzureADTokenExchange"]);
    }
  });

  it("tells every variable that a workflow or the making of a stack reads, and no other", () => {
    const making = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");
    const read = new Set(
      [...Object.values(texts), making].flatMap((text) =>
        [...text.matchAll(/(?:vars|\[\$stack\])\.(\w+)/g)].map(([, name]) => name),
      ),
    );
    // What the repository itself turns on.
    for (const name of ["DEPLOY", "PREVIEW"]) assert.ok(read.delete(name), name);
    const told = (["aws", "azure"] as const).flatMap((cloud) =>
      Object.values(mapOf(mapOf(of(cloud).outputs).environments)).flatMap((variables) => Object.keys(mapOf(variables))),
    );
    assert.deepEqual([...read].sort(), [...new Set(told)].sort());
  });

  it("lets an update sign in for as long as its workflow asks for, which is longer than it may take", () => {
    assert.match(texts["deploy.yml"] ?? "", new RegExp(`role-duration-seconds: ${deploySeconds}$`, "m"));
    const minutes = jobs.find(({ at }) => at === "deploy.yml up")?.["timeout-minutes"] ?? Number.NaN;
    assert.ok(deploySeconds > minutes * 60, `${minutes} minutes`);
  });

  it("keeps the states encrypted, with versions, and deletes none by mistake", () => {
    const aws = of("aws").resources;
    const versions = aws.filter(({ type }) => type === "aws:s3/bucketVersioning:BucketVersioning");
    assert.deepEqual(
      versions.map(({ inputs }) => mapOf(inputs.versioningConfiguration).status),
      ["Enabled", "Enabled"],
    );
    const kinds = [
      "aws:s3/bucket:Bucket",
      "aws:kms/key:Key",
      "azure-native:storage:StorageAccount",
      "azure-native:storage:BlobContainer",
      "azure-native:keyvault:Vault",
      "azure-native:keyvault:Key",
    ];
    const kept = [...aws, ...of("azure").resources].filter(({ type }) => kinds.includes(type));
    assert.equal(kept.length, 2 + 2 + 1 + 2 + 1 + 2);
    for (const { name, options } of kept) assert.equal(options.protect, true, name);
    const blobs = inputsOf(of("azure"), "azure-native:storage:BlobServiceProperties", "fenestra-state-versions");
    assert.equal(blobs.isVersioningEnabled, true);
    const account = inputsOf(of("azure"), "azure-native:storage:StorageAccount", "fenestra-state-account");
    assert.deepEqual(
      [account.allowSharedKeyAccess, account.allowBlobPublicAccess, account.minimumTlsVersion],
      [false, false, "TLS1_2"],
    );
  });

  it("gives on Azure the roles of its table, each on its own scope", () => {
    const given = of("azure").resources.filter(({ type }) => type === "azure-native:authorization:RoleAssignment");
    const lines = given.map(({ name, inputs }) =>
      [
        name,
        textOf(inputs.roleDefinitionId)?.split("/").at(-1),
        textOf(inputs.scope)
          ?.replace(/^\/subscriptions\/[^/]+/, "")
          .replaceAll(/fenestrastate\w+|(fenestra-state-)\w{8}(?=\/)/g, "$1NAME") || "subscription",
        inputs.condition === undefined ? "" : "if it gives roles of a cluster",
      ].join("  "),
    );
    matchSnapshot(path.join(snapshots, "azure-roles.txt"), `${lines.sort().join("\n")}\n`);
    const [administrator] = given.filter(({ name }) => name.includes("roleBasedAccessControl"));
    const condition = textOf(administrator?.inputs.condition) ?? "";
    for (const id of Object.values(roles)) assert.equal(condition.split(id).length, 3, "in both halves");
    assert.equal(administrator?.inputs.conditionVersion, "2.0");
    // Owner, Contributor, User Access Administrator and the right to hand out rights itself.
    for (const id of ["8e3af657", "b24988ac", "18d7d88d", "f58310d9"]) assert.ok(!condition.includes(id), id);
  });

  it("uses the identity provider that is there already", async () => {
    const arn = "arn:aws:iam::123456789012:oidc-provider/token.actions.githubusercontent.com";
    const program = await run("aws", "known-outputs", { "fenestra-ci:oidcProviderArn": arn });
    assert.ok(program.resources.every(({ type }) => !type.includes("OpenIdConnectProvider")));
    const role = inputsOf(program, "aws:iam/role:Role", "fenestra-ci-preview-aws-dev");
    assert.ok(textOf(role.assumeRolePolicy)?.includes(arn));
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
} satisfies StackScope;

describe("the rights of the workflows on AWS", () => {
  const { state, look, resources } = deployPolicies(scope);
  const policies = { preview: previewPolicy(scope), drift: driftPolicy(scope), state, look, resources };

  for (const [name, document] of Object.entries(policies))
    it(`${name}: are those of the snapshot, and fit into a policy`, () => {
      matchSnapshot(path.join(snapshots, `aws-${name}.json.snap`), `${JSON.stringify(document, null, 2)}\n`);
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
    const { program } = await withMocks(() => deployAws(spec), { region: spec.region });
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
    [
      { action: "s3:GetObject", resource: `${scope.bucketArn}/.pulumi/stacks/fenestra/aws-dev.json` },
      ["preview", "drift", "deploy"],
    ],
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
    [
      { action: "iam:UpdateAssumeRolePolicy", resource: `arn:aws:iam::${account}:role/fenestra-ci-preview-aws-dev` },
      [],
    ],
    // Of its own cluster.
    [
      { action: "ec2:DescribeInstances", resource: "*", context: { "aws:RequestedRegion": region } },
      ["drift", "deploy"],
    ],
    [{ action: "ec2:RunInstances", resource: "*", context: { "aws:RequestedRegion": region } }, ["deploy"]],
    [{ action: "ec2:RunInstances", resource: "*", context: { "aws:RequestedRegion": "us-east-1" } }, []],
    [{ action: "s3:GetObject", resource: "arn:aws:s3:::aws-dev-scripts-bucket-1/windows/a.ps1" }, ["drift", "deploy"]],
    [{ action: "s3:GetObject", resource: "arn:aws:s3:::aws-dev-snapshots-bucket-1/etcd.db" }, ["deploy"]],
    [
      { action: "s3:GetEncryptionConfiguration", resource: "arn:aws:s3:::aws-dev-snapshots-bucket-1" },
      ["drift", "deploy"],
    ],
    [
      { action: "ssm:GetParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-dev/join` },
      ["drift", "deploy"],
    ],
    [
      { action: "ssm:PutParameter", resource: `arn:aws:ssm:${region}:${account}:parameter/fenestra/aws-dev/join` },
      ["deploy"],
    ],
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

describe("the subject of a run", () => {
  it("names an environment, with the repository's numbers where it has them", () => {
    assert.equal(
      subject({ name: "octo-org/clusters" }, "preview-aws-dev"),
      "repo:octo-org/clusters:environment:preview-aws-dev",
    );
    const ids = { owner: "12", repository: "345" };
    assert.equal(
      subject({ name: "octo-org/clusters", ids }, "aws-prod"),
      "repo:octo-org@12/clusters@345:environment:aws-prod",
    );
  });

  it("differs for each purpose and stack, and is never that of every pull request", () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
    fc.assert(
      fc.property(name, name, fc.constantFrom(...purposes), fc.constantFrom(...purposes), (a, b, p, q) => {
        const [first, second] = [environmentName(p, a), environmentName(q, b)];
        // A stack whose name begins as another's environment would share it; stack names are checked for that.
        fc.pre(!/^(preview|drift)-/.test(a) && !/^(preview|drift)-/.test(b));
        assert.equal(first === second, a === b && p === q);
        assert.doesNotMatch(subject({ name: "o/r" }, first), /:pull_request$|\*/);
      }),
    );
    assert.equal(subject({ name: "o/r" }, "a:b"), "repo:o/r:environment:a%3Ab");
  });
});

describe("the config of the setup", () => {
  const config = {
    "fenestra-ci:repository": "o/r",
    "fenestra-ci:stacks": `["aws-dev"]`,
    "fenestra-ci:stackDir": "tests/stacks",
  };
  const refused = (over: Readonly<Record<string, string>>, ...messages: readonly RegExp[]) =>
    assert.throws(
      () => loadCiConfig({ ...config, ...over }),
      (error) => error instanceof CiConfigError && messages.every((message) => message.test(error.message)),
    );

  it("takes place and names from the stack files", () => {
    assert.deepEqual(loadCiConfig(config), {
      cloud: "aws",
      region: "eu-central-1",
      accountId: undefined,
      repository: { name: "o/r", ids: undefined },
      stacks: [
        {
          stack: "aws-dev",
          cluster: "aws-dev",
          rolePath: "/",
          permissionsBoundary: undefined,
          record: undefined,
          pods: undefined,
        },
      ],
      oidcProviderArn: undefined,
    });
  });

  it("knows what a stack gives to pods", () => {
    const of = (stack: string) => loadCiConfig({ ...config, "fenestra-ci:stacks": `["${stack}"]` }).stacks[0]?.pods;
    assert.deepEqual(of("aws-existing"), { issuer: undefined, rights: [] });
    assert.deepEqual(of("azure-existing"), { issuer: undefined, rights: ["2a2b9908-6ea1-4ae2-8e65-a410df84e7d1"] });
    const [condition = ""] = rolesOf("deploy", ["0000-1"]).flatMap((role) => role.condition ?? []);
    assert.equal(condition.split("0000-1").length, 3, "in both halves");
  });

  it("tells all mistakes at once", () => {
    refused(
      { "fenestra-ci:repository": "https://github.com/o/r", "fenestra-ci:stacks": "aws-dev", "fenestra-ci:more": "1" },
      /fenestra-ci:repository: allowed: OWNER\/NAME/,
      /fenestra-ci:stacks: allowed: a list of stacks/,
      /more/,
    );
    refused({ "fenestra-ci:repositoryIds": `{"owner":12,"repository":"3"}` }, /fenestra-ci:repositoryIds\.owner/);
    refused(
      { "fenestra-ci:oidcProviderArn": "arn:aws:iam::1:user/x" },
      /fenestra-ci:oidcProviderArn: allowed: the ARN/,
    );
  });

  it("knows clusters whose names the rights could not tell apart", () => {
    assert.deepEqual(overlapping(["aws-dev", "aws-prod", "aws-development"]), []);
    assert.deepEqual(overlapping(["aws", "aws-prod"]), ["aws"]);
    // Roles and states of this program begin with fenestra-ci- and fenestra-state-.
    const own = ["fenestra", "fenestra-ci", "fenestra-state", "fenestra-x"];
    assert.deepEqual(overlapping([...own, "fenestral"]), own);
  });

  it("refuses stacks of different places", () => {
    refused({ "fenestra-ci:stacks": `["aws-dev","azure-dev"]` }, /they lie in different places/);
  });
});
