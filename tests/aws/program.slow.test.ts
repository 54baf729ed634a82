import assert from "node:assert/strict";
import { awsObjects, storedObjects } from "../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { Secret, textOf } from "../../plan/program/values.ts";
import { ofType, type Recorded, runStack, shortUrn } from "../support/mocks.ts";

type Changes = Readonly<Record<string, string>>;

const run = (stack: string, changes: Changes = {}): Promise<Recorded> => runStack(stack, changes);

describe("the program on AWS", () => {
  it("gives objects in S3 no tags of the stack, which may have forty where an object takes ten", async () => {
    const objects = [...ofType(await run("aws-dev"), "aws:s3/bucketObjectv2:BucketObjectv2").values()];
    assert.ok(objects.length > 0);
    for (const { inputs } of objects) assert.deepEqual(inputs.overrideProvider, { defaultTags: { tags: {} } });
  });

  it("has names that fit AWS's limits, Pulumi's suffix included, with the longest names there can be", async () => {
    const pools = [{ name: "p".repeat(20), os: "linux", perZone: true }];
    const recorded = await run("aws-prod", { name: "c".repeat(20), pools: JSON.stringify(pools) });
    // A hyphen and seven random characters.
    const suffix = 8;
    const limits = { "aws:iam/role:Role": 64, "aws:s3/bucket:Bucket": 63, "aws:ec2/launchTemplate:LaunchTemplate": 128 };
    for (const [type, limit] of Object.entries(limits)) {
      const names = [...ofType(recorded, type).keys()];
      assert.ok(names.length > 0, type);
      const tooLong = names.filter((name) => name.length + suffix > limit);
      assert.deepEqual(tooLong, []);
    }
  });

  it("hands every AWS resource its one provider, with region, tags and the account that it may touch", async () => {
    const recorded = await run("aws-dev", { accountId: "123456789012" });
    const providers = [...ofType(recorded, "pulumi:providers:aws").values()];
    const settings = providers.map(({ name, inputs }) => [name, inputs.region, inputs.allowedAccountIds, inputs.defaultTags]);
    assert.deepEqual(settings, [
      ["aws-dev-aws", "eu-central-1", '["123456789012"]', '{"tags":{"fenestra:cluster":"aws-dev","fenestra:environment":"development"}}'],
    ]);
    for (const { urn, type, provider } of recorded.program.resources)
      if (type.startsWith("aws:")) assert.equal(provider, providers[0]?.urn, urn);
  });

  it("of GovCloud names everything in its own partition", async () => {
    const region = "us-gov-west-1";
    const { program } = await runStack("aws-dev", { region, network: { zones: [`${region}a`] } });
    const text = JSON.stringify(program.resources.map(({ inputs, outputs }) => [inputs, outputs]));
    assert.doesNotMatch(text, /arn:aws:/);
    assert.match(text, /arn:aws-us-gov:s3:::/);
    // What the roles may read is there for them: the scripts of the machines.
    const machines = collectAwsMachines(program);
    for (const [object] of storedObjects(program)) {
      const [bucket = "", ...key] = object.split("/");
      const isReadable = machines.some(({ role }) => awsObjects(program, role)(bucket, key.join("/")) !== undefined);
      assert.ok(isReadable, object);
    }
  });

  it("exports these outputs, the kubeconfig as a secret", async () => {
    const { outputs } = (await run("aws-dev")).program;
    assert.deepEqual(Object.keys(outputs).sort(), [
      "apiEndpoint",
      "attachment",
      "clusterName",
      "config",
      "kubeconfig",
      "kubernetesVersion",
      "pools",
      "publicEndpoint",
      "resources",
    ]);
    assert.ok(outputs.kubeconfig instanceof Secret);
    assert.match(textOf(outputs.publicEndpoint) ?? "", /^https:\/\/.*:6443$/);
    assert.ok((textOf(outputs.kubeconfig) ?? "").includes(textOf(outputs.publicEndpoint) ?? "?"));
    assert.deepEqual(outputs.pools, [
      { name: "linux", os: "linux", group: "aws-dev-linux" },
      { name: "win2019", os: "windows-2019", group: "aws-dev-win2019" },
      { name: "win2022", os: "windows-2022", group: "aws-dev-win2022" },
    ]);
  });

  it("is taken down in an order in which nothing loses what it needs", async () => {
    const { program } = await run("aws-prod");
    const byUrn = new Map(program.resources.map((each) => [each.urn, each]));
    // What a resource needs, directly or not: it is deleted before all of these.
    const needs = (urn: string, seen = new Set<string>()): Set<string> => {
      for (const next of byUrn.get(urn)?.dependencies ?? [])
        if (!seen.has(next)) {
          seen.add(next);
          needs(next, seen);
        }
      return seen;
    };
    for (const { urn } of program.resources) assert.ok(!needs(urn).has(urn), `${nameOfUrn(urn)} needs itself`);
    const outlives = (type: string, name: string): readonly string[] => {
      const found = program.resources.find((each) => each.type === type && each.name === name);
      assert.ok(found !== undefined, name);
      return [...needs(found.urn)].map(shortUrn);
    };
    // Machines of a pool drain by the API and leave by a hook that they complete with their role.
    const group = outlives("aws:autoscaling/group:Group", "aws-prod-pool-win2019-group");
    for (const needed of [
      "pulumi:index:Stash aws-prod-control-plane-api",
      "aws:ec2/instance:Instance aws-prod-control-plane-0-instance",
      "aws:ec2/instance:Instance aws-prod-control-plane-2-instance",
      "aws:lb/listener:Listener aws-prod-api-internal",
      "aws:iam/rolePolicyAttachment:RolePolicyAttachment aws-prod-pool-win2019-identity-worker",
      "aws:ec2/route:Route aws-prod-network-private-a",
    ])
      assert.ok(group.includes(needed), needed);
    // A control-plane machine is deleted before its secrets, and detached before its disk is.
    const machine = outlives("aws:ec2/instance:Instance", "aws-prod-control-plane-2-instance");
    for (const needed of ["aws:ssm/parameter:Parameter aws-prod-secrets-kubernetes-ca", "aws:kms/key:Key aws-prod-secrets-key"])
      assert.ok(machine.includes(needed), needed);
    const attachment = outlives("aws:ec2/volumeAttachment:VolumeAttachment", "aws-prod-control-plane-2-etcd");
    assert.ok(attachment.includes("aws:ebs/volume:Volume aws-prod-control-plane-2-etcd"));
    // No hook runs on deletion: a plain `pulumi destroy` must work.
    for (const { options } of program.resources)
      assert.deepEqual([options.hooks.beforeDelete, options.hooks.afterDelete], [undefined, undefined]);
  });
});
