import assert from "node:assert/strict";
import { awsObjects, storedObjects } from "../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
import { Secret, textOf } from "../../plan/program/values.ts";
import { ofType, type Recorded, runStack } from "../support/mocks.ts";

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
    const limits = {
      "aws:iam/role:Role": 64,
      "aws:s3/bucket:Bucket": 63,
      "aws:ec2/launchTemplate:LaunchTemplate": 128,
    };
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
    const settings = providers.map(({ name, inputs }) => [
      name,
      inputs.region,
      inputs.allowedAccountIds,
      inputs.defaultTags,
    ]);
    assert.deepEqual(settings, [
      [
        "aws-dev-aws",
        "eu-central-1",
        '["123456789012"]',
        '{"tags":{"fenestra:cluster":"aws-dev","fenestra:environment":"development"}}',
      ],
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
    // The roles may read the machines' scripts.
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
      "clusterName",
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

  it("has no hook on deletion: a plain `pulumi destroy` must work", async () => {
    for (const { options } of (await run("aws-prod")).program.resources)
      assert.deepEqual([options.hooks.beforeDelete, options.hooks.afterDelete], [undefined, undefined]);
  });
});
