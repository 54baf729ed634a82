import assert from "node:assert/strict";
import { policiesOf } from "../../ci/awsPolicies.ts";
import type { StackScope } from "../../ci/awsStackScope.ts";
import { ciRoles, rolesOf } from "../../ci/azureRoles.ts";
import { ciStackOf } from "../../ci/config.ts";
import { type Purpose, purposes } from "../../ci/environments.ts";
import type { PolicyDocument } from "../../components/aws/policyDocument.ts";
import { loadConfig } from "../../components/config/load.ts";
import { readStackFile, stackNames } from "../../components/config/stackFile.ts";
import { awsCalls, type Operation, operations } from "../../plan/calls/aws.ts";
import { azureActions } from "../../plan/calls/azure.ts";
import { rolesAllow } from "../../plan/fakes/azureAccess.ts";
import { builtInRoles } from "../../plan/fakes/azureRoles.ts";
import { placeOf } from "../../plan/fakes/cloud.ts";
import { allows, type Call, matches } from "../../plan/fakes/iam.ts";
import type { RecordedResource } from "../../plan/program/recorded.ts";
import { runConfig, testAccount } from "../support/mocks.ts";
import { testStacks } from "../support/stacks.ts";

const key = (name: string) => `arn:aws:kms:eu-central-1:${testAccount}:key/${name}`;
const json = (value: object) => JSON.stringify(value);

/** Settings on which rights hang and that no example has. */
const more: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "aws-prod": {
    "fenestra:iam": json({ rolePath: "/kubernetes/", permissionsBoundary: `arn:aws:iam::${testAccount}:policy/boundary` }),
    "fenestra:controlPlane": json({ replicas: 3, osDisk: { encryptionKey: key("1") }, etcdDisk: { encryptionKey: key("2") } }),
    "fenestra:addons": json({ logs: { cloudwatch: { retentionDays: 30 } } }),
    "fenestra:access": json({ workloadIdentity: { issuer: "https://issuer.corp.test/prod" } }),
  },
  "aws-dev": {
    "fenestra:access": json({
      dns: { name: "api.shop.example.com", zone: "Z0123456789ABCDEFGHIJ" },
      workloadIdentity: { serviceAccounts: [{ namespace: "a", name: "b", policies: ["arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"] }] },
    }),
    "fenestra:network": json({
      cidr: "10.0.0.0/16",
      zones: ["eu-central-1a"],
      dns: { servers: ["10.0.0.4"], searchDomain: "corp.example.com" },
    }),
  },
};

/** Every stack of a cloud, and those with the settings above. A network that exists already has its role on Azure, without which ci takes none. */
const stacksOf = (cloud: "aws" | "azure") =>
  stackNames(testStacks)
    .filter((name) => name.startsWith(cloud))
    .flatMap((name) => {
      const { "fenestra:network": network = "", ...rest } = readStackFile(name, testStacks);
      const role = cloud === "azure" ? `"existing":{"controllerRole":"c0ffee00-0000-4000-8000-000000000000",` : `"existing":{`;
      const config = { ...rest, "fenestra:network": network.replace(`"existing":{`, role) };
      return [config, ...(more[name] === undefined ? [] : [{ ...config, ...more[name] }])].map((each) => ({ name, config: each }));
    });

/** What each run does with a resource: a preview reads what exists already, a comparison what is made. */
function done(purpose: Purpose, { read }: RecordedResource): readonly Operation[] {
  if (purpose === "deploy" && read === undefined) return operations;
  return purpose === "preview" && read === undefined ? [] : ["read"];
}

describe("the rights of the workflows, against the calls of every stack", function () {
  this.timeout(240_000);

  it("suffice on AWS for each call, and none is left that no call needs", async () => {
    const refused: string[] = [];
    const used = new Set<string>();
    const given = new Set<string>();
    for (const { name, config } of stacksOf("aws")) {
      const { program } = await runConfig(name, config, "known-outputs");
      const place = placeOf(config);
      const scope: StackScope = {
        ...ciStackOf(name, loadConfig(config)),
        region: place.region,
        accountId: place.accountId,
        bucketArn: "arn:aws:s3:::fenestra-state-x",
        keyArn: key("state"),
      };
      for (const purpose of purposes) {
        const policies = Object.values(policiesOf(purpose, scope));
        for (const action of policies
          .flatMap(({ Statement }) => Statement)
          .flatMap(({ Effect, Action }) => (Effect === "Allow" ? Action : [])))
          given.add(action);
        const calls = program.resources
          .filter(({ type }) => type.startsWith("aws:"))
          .flatMap((resource) => done(purpose, resource).flatMap((operation) => awsCalls(program, place, resource, operation)));
        for (const call of [...calls, ...ofState(purpose, scope)]) {
          if (!allows(policies, call)) refused.push(`${name} ${purpose}: ${call.action} on ${call.resource}`);
          for (const { Statement } of policies) for (const action of fitting(Statement, call)) used.add(action);
        }
      }
    }
    assert.deepEqual([...new Set(refused)], []);
    assert.deepEqual([...given].filter((action) => !used.has(action)).sort(), []);
  });

  it("suffice on Azure for each call", async () => {
    const refused: string[] = [];
    for (const { name, config } of stacksOf("azure")) {
      const { program } = await runConfig(name, config, "known-outputs");
      const stack = ciStackOf(name, loadConfig(config));
      for (const purpose of purposes) {
        const given = rolesOf(purpose, stack);
        const subscription = `/subscriptions/${placeOf(config).accountId}`;
        const scopes = {
          subscription,
          network: stack.network?.id,
          group: `${subscription}/resourceGroups/${stack.network?.resourceGroup}`,
        };
        const held = given.flatMap(({ role, on, condition }) => {
          if (on === "state" || on === "key") return [];
          const [rights, scope] = [builtInRoles[ciRoles[role]], scopes[on]];
          assert.ok(rights !== undefined && scope !== undefined, role);
          return [{ scope, rights, condition }];
        });
        for (const resource of program.resources.filter(({ type }) => type.startsWith("azure-native:")))
          for (const operation of done(purpose, resource))
            for (const request of azureActions(resource, operation)) {
              const holding = held.filter(
                ({ condition }) => request.role === undefined || (condition ?? request.role).includes(request.role),
              );
              // The key of an account is read for a blob: a comparison leaves those out.
              if (purpose === "drift" && request.action.endsWith("/listKeys/action")) continue;
              if (!rolesAllow(holding, request)) refused.push(`${name} ${purpose}: ${request.action} on ${request.resource}`);
            }
      }
    }
    assert.deepEqual([...new Set(refused)], []);
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
