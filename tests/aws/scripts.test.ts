import assert from "node:assert/strict";
import { textOf } from "../../components/gates/resources.ts";
import { decodeUserData } from "../../plan/decode/userData.ts";
import { awsObjects } from "../../plan/fakes/awsAccess.ts";
import { collectMachines } from "../../plan/fakes/collect.ts";
import { nameOfUrn } from "../../plan/program/recorded.ts";
import { ofType, type Recorded, resource, runStack } from "../support/mocks.ts";

const objectType = "aws:s3/bucketObjectv2:BucketObjectv2";
const groupType = "aws:autoscaling/group:Group";
const instanceType = "aws:ec2/instance:Instance";
const prod = await runStack("aws-prod");
const machinesOf = ({ program }: Recorded) => collectMachines(program, ({ desired }) => Math.max(desired, 1));

describe("scripts of machines on AWS", () => {
  it("lie in the bucket of the cluster, each object once: control plane, Linux, Windows with and without Hyper-V", () => {
    const bucket = resource(prod, "aws:s3/bucket:Bucket", "aws-prod-scripts-bucket");
    const objects = [...ofType(prod, objectType).values()];
    assert.deepEqual([...new Set(objects.map(({ inputs }) => inputs.bucket))], [bucket.id]);
    const keys = objects.map(({ inputs }) => textOf(inputs.key) ?? "");
    assert.equal(new Set(keys).size, keys.length);
    const kinds = keys.map((key) => key.replace(/[0-9a-f]{64}/, "<digest>")).sort();
    assert.deepEqual(kinds, [
      "linux/<digest>.json",
      "linux/<digest>.json",
      "windows/<digest>.json",
      "windows/<digest>.json",
    ]);
  });

  it("are found by every machine with the rights of its own role, and no machine reads those of the other system", () => {
    const keys = [...ofType(prod, objectType).values()].map(({ inputs }) => textOf(inputs.key) ?? "");
    const bucket = textOf(resource(prod, "aws:s3/bucket:Bucket", "aws-prod-scripts-bucket").outputs.bucket) ?? "";
    const machines = machinesOf(prod);
    assert.equal(new Set(machines.map(({ urn }) => urn)).size, 9);
    for (const { name, role, userData } of machines) {
      assert.ok(role !== undefined, name);
      const objects = awsObjects(prod.program, role);
      const { system, fetched } = decodeUserData(userData, objects);
      assert.notEqual(fetched.length, 0, name);
      const readable = keys.filter((key) => objects(bucket, key) !== undefined);
      const wanted = keys.filter((key) => key.startsWith(`${system}/`));
      assert.deepEqual(readable, wanted, name);
    }
  });

  it("are there before a machine starts", () => {
    const names = [...ofType(prod, objectType).keys()];
    const machines = [...ofType(prod, instanceType).values(), ...ofType(prod, groupType).values()];
    assert.equal(machines.length, 9);
    const { resources } = prod.program;
    const behind = new Map(resources.map(({ urn, dependencies }) => [urn, dependencies]));
    for (const { name, urn } of machines) {
      // By its gate, too.
      const all = new Set([urn]);
      for (const each of all) for (const next of behind.get(each) ?? []) all.add(next);
      const before = [...all].map(nameOfUrn);
      for (const object of names) assert.ok(before.includes(object), `${name} after ${object}`);
    }
  });
});
