import assert from "node:assert/strict";
import type { PolicyDocument } from "../../components/aws/policyDocument.ts";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { policies as made, type StackScope } from "../../examples/ci/awsPolicies.ts";
import { type Purpose, purposes } from "../../examples/ci/environments.ts";
import { awsCalls } from "../../plan/calls/aws.ts";
import { placeOf, simulatedCloud } from "../../plan/fakes/cloud.ts";
import { allows, type Call, matches } from "../../plan/fakes/iam.ts";
import { type Deployer, ServedCloud } from "../../plan/providers/cloud.ts";
import { rightsAsked } from "../check/account/world.ts";
import { runConfig, testAccount } from "../support/mocks.ts";
import { testStacks } from "../support/stacks.ts";
import { scopeOf, workflowDeployer } from "./deployer.ts";

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
  const cloud = new ServedCloud(simulatedCloud(place, "fake"), program.resources, {}, place.existing);
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
    // No provider asks this; awsRights.test.ts has its calls.
    for (const action of rightsAsked("aws")) used.add(action);
    assert.deepEqual([...given].filter((action) => !used.has(action)).sort(), []);
  });

  it("suffice on Azure for each call, but no role in a network", async () => {
    const refused: string[] = [];
    for (const { name, config } of stacksOf("azure"))
      for (const purpose of purposes) refused.push(...(await refusals(name, config, purpose)));
    assert.deepEqual([...new Set(refused)], []);
    const [first] = await refusals("azure-existing", readStackFile("azure-existing", testStacks), "deploy");
    assert.match(first ?? "", /deploy may not Microsoft.Authorization\/roleDefinitions\/write on/);
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
function fitting(statements: PolicyDocument["Statement"], call: Call): readonly string[] {
  return statements.flatMap((statement) =>
    statement.Action.filter(
      (action) => matches(action, call.action) && allows([{ Statement: [{ ...statement, Action: [action] }] }], call),
    ),
  );
}
