import assert from "node:assert/strict";
import { awsObjects, storedObjects } from "../../plan/fakes/awsAccess.ts";
import { collectAwsMachines } from "../../plan/fakes/awsMachines.ts";
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
});
