// Sees what nothing faster does: that the rights of the workflows suffice for each call that the program and the state make.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { PolicyDocument } from "../../components/aws/policyDocument.ts";
import { roles } from "../../components/azure/roles.ts";
import { loadConfig } from "../../components/config/load.ts";
import type { Cloud } from "../../components/config/schema.ts";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { mapOf, textOf } from "../../components/gates/values.ts";
import { deploySeconds } from "../../examples/ci/aws.ts";
import { policies as made, policies, type StackScope } from "../../examples/ci/awsPolicies.ts";
import { ciRoles, rolesOf } from "../../examples/ci/azureRoles.ts";
import { ciStackOf } from "../../examples/ci/config.ts";
import { type Purpose, purposes } from "../../examples/ci/environments.ts";
import { allows, type Call, matches } from "../../plan/fakes/awsAccess.ts";
import { builtInRoles, rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { awsCalls, azureActions, type DeployerRequest } from "../../plan/fakes/calls.ts";
import { documentationAccounts, placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import type { OutputMode } from "../../plan/program/engine.ts";
import type { RecordedProgram } from "../../plan/program/recorded.ts";
import { runProgram } from "../../plan/program/runProgram.ts";
import { rightsAsked } from "../check/account/world.ts";
import { documents } from "../docs/documents.ts";
import { guardTable } from "../program/guardTable.ts";
import { runConfig, testAccount } from "../support/mocks.ts";
import { type Deployer, ServedCloud } from "../support/servedCloud.ts";
import { matchSnapshot } from "../support/snapshot.ts";
import { testStacks } from "../support/stacks.ts";
import { texts } from "../workflows/read.ts";

const setup = new URL("../../examples/ci/", import.meta.url);

const exampleOf = (cloud: Cloud) => ({
  ...readStackFile(cloud, setup),
  "fenestra-ci:stackDir": "stacks",
  "fenestra-ci:stacks": JSON.stringify([`${cloud}-dev`, `${cloud}-prod`]),
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

/** Lines of both stacks as one. */
function ofEachStack(text: string) {
  const lines = [...Map.groupBy(text.split("\n"), (line) => line.replaceAll(/-(dev|prod)\b/g, "-STACK"))];
  return lines.map(([line, [first = "", second]]) => (second === undefined ? first : line)).join("\n");
}

const programs = { aws: await run("aws"), azure: await run("azure") };

describe("the setup for the workflows", function () {
  this.timeout(60_000);
  for (const cloud of ["aws", "azure"] as const)
    it(`guards on ${cloud} as the table says, and makes the same in a first preview`, async () => {
      const preview = await run(cloud, "unknown-outputs");
      const shape = ({ resources }: RecordedProgram) => resources.map(({ type, name }) => `${type} ${name}`).sort();
      assert.deepEqual(shape(preview), shape(programs[cloud]));
      const text = guardTable({ "": programs[cloud] }).replaceAll(/fenestrastate\w+/g, "NAME");
      matchSnapshot(path.join(import.meta.dirname, `guards.${cloud}.txt`), ofEachStack(text));
    });

  it("names on Azure, as the manual does, the version of each state's key", () => {
    const variables = Object.values(mapOf(mapOf(programs.azure.outputs).environments)).map(mapOf);
    for (const { PULUMI_SECRETS_PROVIDER } of variables)
      assert.match(textOf(PULUMI_SECRETS_PROVIDER) ?? "", /^azurekeyvault:\/\/[^/]+\/keys\/[^/]+\/[0-9a-f]{32}$/);
    assert.ok(variables.length > 0);
    for (const { text } of documents()) assert.doesNotMatch(text, /azurekeyvault:\/\/[^\s"`]*\/keys\/[^/\s"`]+["`\s]/);
  });

  it("tells every variable that workflows or the making of a stack read, and no other", () => {
    const making = readFileSync(new URL("../../docs/ci.md", import.meta.url), "utf8");
    const read = new Set(
      // The environments of a first contact are a maintainer's own.
      [...Object.entries(texts), ["", making]].flatMap(([name, text = ""]) =>
        name === "contact.yml" ? [] : [...text.matchAll(/(?:vars|\[\$stack\])\.(\w+)/g)].map(([, name]) => name),
      ),
    );
    // Without a branch of its own any branch's workflow may name an environment, and the cloud trusts that.
    const [made = ""] = making.match(/^jq .*keys.*\n( .*\n)+done$/m) ?? [];
    assert.match(
      made,
      /--method PUT .*\[custom_branch_policies\]=true'\n.*deployment-branch-policies" .*name=main\ndone$/,
    );
    // What the repository itself turns on.
    for (const name of ["DEPLOY", "PREFLIGHT"]) assert.ok(read.delete(name), name);
    const told = (["aws", "azure"] as const).flatMap((cloud) =>
      Object.values(mapOf(mapOf(programs[cloud].outputs).environments)).flatMap((variables) =>
        Object.keys(mapOf(variables)),
      ),
    );
    assert.deepEqual([...read].sort(), [...new Set(told)].sort());
    assert.match(texts["deploy.yml"] ?? "", new RegExp(`role-duration-seconds: ${deploySeconds}$`, "m"));
  });

  it("lets on Azure give the roles of a cluster alone", () => {
    const given = programs.azure.resources.filter(({ type }) => type === "azure-native:authorization:RoleAssignment");
    const [administrator] = given.filter(({ name }) => name.includes("roleBasedAccessControl"));
    const condition = textOf(administrator?.inputs.condition) ?? "";
    for (const id of Object.values(roles)) assert.equal(condition.split(id).length, 3, "in both halves");
    assert.equal(administrator?.inputs.conditionVersion, "2.0");
    // Owner, Contributor, User Access Administrator, Role Based Access Control Administrator.
    for (const id of ["8e3af657", "b24988ac", "18d7d88d", "f58310d9"]) assert.ok(!condition.includes(id), id);
  });
});

type Config = Readonly<Record<string, string>>;

const key = (name: string) => `arn:aws:kms:eu-central-1:${testAccount}:key/${name}`;
const json = (value: object) => JSON.stringify(value);

/** Settings on which rights hang and that no example has. */
const more: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "aws-prod": {
    "fenestra:iam": json({
      rolePath: "/kubernetes/",
      permissionsBoundary: `arn:aws:iam::${testAccount}:policy/boundary`,
    }),
    "fenestra:controlPlane": json({
      replicas: 3,
      osDisk: { encryptionKey: key("1") },
      etcdDisk: { encryptionKey: key("2") },
    }),
    "fenestra:addons": json({ logs: { cloudwatch: { retentionDays: 30 } } }),
    "fenestra:access": json({ workloadIdentity: { issuer: "https://issuer.corp.test/prod" } }),
  },
  "aws-dev": {
    "fenestra:access": json({
      dns: { name: "api.shop.example.com", zone: "Z0123456789ABCDEFGHIJ" },
      workloadIdentity: {
        serviceAccounts: [{ namespace: "a", name: "b", policies: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] }],
      },
    }),
    "fenestra:network": json({ cidr: "10.0.0.0/16", zones: ["eu-central-1a"], dns: { servers: ["10.0.0.4"] } }),
  },
};

/** Every stack of a cloud, with the settings above too. An existing network on Azure needs a role. */
const stacksOf = (cloud: "aws" | "azure") =>
  stackNames(testStacks)
    .filter((name) => name.startsWith(cloud))
    .flatMap((name) => {
      const { "fenestra:network": network = "", ...rest } = readStackFile(name, testStacks);
      const role =
        cloud === "azure" ? `"existing":{"controllerRole":"c0ffee00-0000-4000-8000-000000000000",` : `"existing":{`;
      const config = { ...rest, "fenestra:network": network.replace(`"existing":{`, role) };
      return [config, ...(more[name] === undefined ? [] : [{ ...config, ...more[name] }])].map((each) => ({
        name,
        config: each,
      }));
    });

/** What clouds that ask at each call refuse a run of each workflow: an update does everything, others read. */
async function refusals(
  name: string,
  config: Config,
  purpose: Purpose,
  seen: (...asked: Parameters<Deployer>) => void = () => {},
) {
  const { program } = await runConfig(name, config, "known-outputs");
  const place = placeOf(config);
  const cloud = new ServedCloud(simulatedCloud(place, "fake"), program.resources, place.existing);
  for (const { type, inputs } of program.resources.filter((each) => each.type.startsWith("pulumi:providers:")))
    cloud.configure(type.replace("pulumi:providers:", ""), inputs);
  const judge = workflowDeployer(purpose, name, config);
  const refused: string[] = [];
  const asking: Deployer = (...asked) => {
    seen(...asked);
    try {
      judge(...asked);
    } catch (error) {
      refused.push(`${name}: ${error instanceof Error ? error.message : error}`);
    }
  };
  if (purpose === "deploy") cloud.deployer = asking;
  const resources = program.resources.filter(({ type }) => /^(aws|azure-native):/.test(type));
  const own = resources.filter(({ read }) => read === undefined);
  for (const each of own) cloud.create(each, each.inputs);
  cloud.deployer = asking;
  // Blobs are read with the account's key: a preview leaves those out.
  for (const each of resources)
    if (purpose !== "preview" || !each.type.endsWith(":Blob"))
      cloud.read(each, each.id ?? "", each.inputs, each.outputs);
  if (purpose !== "deploy") return refused;
  for (const each of own)
    cloud.update(each, each.id ?? "", {
      inputs: each.inputs,
      oldInputs: each.inputs,
      oldOutputs: each.outputs,
      ignoreChanges: [],
    });
  for (const each of own.toReversed()) cloud.delete(each, each.id ?? "", each.inputs);
  assert.equal(cloud.size, 0);
  return refused;
}

describe("the rights of the workflows, against every stack's calls", function () {
  this.timeout(240_000);

  it("suffice on AWS for each call, and none is unneeded", async () => {
    const refused: string[] = [];
    const used = new Set<string>();
    const given = new Set<string>();
    for (const { name, config } of stacksOf("aws")) {
      const scope = scopeOf(name, config);
      for (const purpose of purposes) {
        const policies = Object.values(made[purpose](scope));
        for (const { Effect, Action } of policies.flatMap(({ Statement }) => Statement))
          if (Effect === "Allow") for (const action of Action) given.add(action);
        const calls: Call[] = [...ofState(purpose, scope)];
        refused.push(
          ...calls.filter((call) => !allows(policies, call)).map(({ action }) => `${name} ${purpose}: ${action}`),
        );
        const seen: typeof calls.push = (...more) => calls.push(...more);
        refused.push(
          ...(await refusals(name, config, purpose, (how, what, all) =>
            seen(...awsCalls(all, placeOf(config), what, how)),
          )),
        );
        for (const call of calls)
          for (const { Statement } of policies) for (const action of fitting(Statement, call)) used.add(action);
      }
    }
    assert.deepEqual([...new Set(refused)], []);
    // No provider asks this; ci.test.ts has its calls.
    for (const action of rightsAsked("aws")) used.add(action);
    assert.deepEqual([...given].filter((action) => !used.has(action)).sort(), []);
  });

  it("suffice on Azure for each call, but no role in a network", async () => {
    const refused: string[] = [];
    for (const { name, config } of stacksOf("azure"))
      for (const purpose of purposes) refused.push(...(await refusals(name, config, purpose)));
    assert.deepEqual([...new Set(refused)], []);
    assert.match(
      (await refusals("azure-existing", readStackFile("azure-existing", testStacks), "deploy"))[0] ?? "",
      /deploy may not Microsoft.Authorization\/roleDefinitions\/write on/,
    );
  });
});

/** What Pulumi itself does with a state (gocloud.dev: blob/s3blob, secrets/awskms). */
function ofState(purpose: Purpose, { bucketArn, keyArn }: StackScope): readonly Call[] {
  const object = `${bucketArn}/.pulumi/stacks/fenestra/x.json`;
  const reading = [
    { action: "s3:GetObject", resource: object },
    { action: "s3:ListBucket", resource: bucketArn },
    { action: "kms:Decrypt", resource: keyArn },
  ];
  if (purpose !== "deploy") return reading;
  return [
    ...reading,
    { action: "s3:PutObject", resource: object },
    { action: "s3:DeleteObject", resource: object },
    { action: "kms:Encrypt", resource: keyArn },
  ];
}

/** The patterns of actions that let a call through. */
function fitting(statements: PolicyDocument["Statement"], call: Call) {
  return statements.flatMap((statement) =>
    statement.Action.filter(
      (action) => matches(action, call.action) && allows([{ Statement: [{ ...statement, Action: [action] }] }], call),
    ),
  );
}

/** What bounds the rights of a stack's workflows on AWS, with a made-up place for the state. */
function scopeOf(stack: string, config: Readonly<Record<string, string>>): StackScope {
  const { region, accountId } = placeOf(config);
  return {
    ...ciStackOf(stack, loadConfig(config)),
    region,
    accountId,
    bucketArn: "arn:aws:s3:::fenestra-state-x",
    keyArn: `arn:aws:kms:${region}:${accountId}:key/state`,
  };
}

/** What a workflow's role may, as `examples/ci` makes it. */
function workflowDeployer(purpose: Purpose, stack: string, config: Readonly<Record<string, string>>): Deployer {
  const place = placeOf(config);
  const scope = scopeOf(stack, config);
  const documents = Object.values(policies[purpose](scope));
  const mayOnAzure = azureRights(purpose, scope);
  return (operation, resource, program) => {
    const refused = resource.type.startsWith("azure-native:")
      ? azureActions(resource, operation).find((request) => !mayOnAzure(request))
      : awsCalls(program, place, resource, operation).find((call) => !allows(documents, call));
    if (refused !== undefined)
      throw new Error(`AccessDenied: ${purpose} may not ${refused.action} on ${refused.resource}`);
  };
}

function azureRights(
  purpose: Purpose,
  { accountId, network, pods }: StackScope,
): (request: DeployerRequest) => boolean {
  const held = rolesOf(purpose, { pods, network }).flatMap(({ role, on, condition }) => {
    if (on !== "subscription") return [];
    const rights = builtInRoles[ciRoles[role]];
    if (rights === undefined) throw new Error(`the rights of ${role} are not known`);
    return [{ scope: `/subscriptions/${accountId}`, rights, condition }];
  });
  return (request) => {
    const { role } = request;
    return rolesAllow(
      held.filter(({ condition }) => role === undefined || (condition ?? role).includes(role)),
      request,
    );
  };
}
