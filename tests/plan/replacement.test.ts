import assert from "node:assert/strict";
import { differencesFrom } from "../../plan/replacement/compare.ts";

const marked = { willReplaceOnChanges: true };

/** Plans that set the same inputs, of which the schema says that they replace. */
function differences(volume: object, types: object = {}): readonly string[] {
  const inputProperties = {
    launchTemplate: { $ref: "#/types/t" },
    primaryNetworkInterface: { $ref: "#/types/n" },
    hostId: marked,
  };
  const resources = {
    "aws:ebs/volume:Volume": { inputProperties: volume },
    "aws:ec2/instance:Instance": { inputProperties },
  };
  const schema = {
    resources,
    types: { t: { properties: { id: marked } }, n: { properties: { networkInterfaceId: marked } }, ...types },
  };
  const plan = {
    resources: [
      { type: "aws:ebs/volume:Volume", inputs: { availabilityZone: "a", kmsKeyId: "k", size: 8 } },
      { type: "aws:ec2/instance:Instance", inputs: { launchTemplate: { id: "lt" } } },
    ],
  };
  return differencesFrom(JSON.stringify(schema), [JSON.stringify(plan)]);
}

describe("the table of replacements against a package's schema", () => {
  it("agrees, names what either lacks, and says nothing of types that the schema does not mark", () => {
    const volume = { availabilityZone: marked, kmsKeyId: marked, size: {} };
    assert.deepEqual(differences(volume), []);
    assert.deepEqual(differences({ ...volume, size: marked }), [
      "aws:ebs/volume:Volume size: replaces in the schema, not in the table",
    ]);
    assert.deepEqual(differences({ ...volume, kmsKeyId: {} }), [
      "aws:ebs/volume:Volume kmsKeyId: replaces in the table, not in the schema",
    ]);
    assert.deepEqual(differences(volume, { t: { properties: { id: {} } } }), [
      "aws:ec2/instance:Instance launchTemplate.id: replaces in the table, not in the schema",
    ]);
    assert.deepEqual(differences({ availabilityZone: {}, kmsKeyId: {} }), []);
  });
});
