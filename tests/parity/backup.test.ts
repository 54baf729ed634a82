import assert from "node:assert/strict";
import { listOf, mapOf, textOf } from "../../plan/program/values.ts";
import { ofType, resource, runStack } from "../support/mocks.ts";

describe("snapshots of etcd", () => {
  const backup = { controlPlane: JSON.stringify({ backup: { everyHours: 2, keepDays: 90 } }) };

  it("are kept as long as it says, and as long again when a machine of the control plane writes over them or deletes them", async () => {
    const aws = await runStack("aws-dev", backup);
    const { inputs } = resource(
      aws,
      "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
      "aws-dev-snapshots-expiry",
    );
    const [rule, marks] = listOf(inputs.rules).map(mapOf);
    assert.deepEqual([rule?.expiration, rule?.noncurrentVersionExpiration], [{ days: 90 }, { noncurrentDays: 90 }]);
    assert.deepEqual(marks?.expiration, { expiredObjectDeleteMarker: true });
    const versions = resource(aws, "aws:s3/bucketVersioning:BucketVersioning", "aws-dev-snapshots-versions").inputs;
    assert.deepEqual(versions.versioningConfiguration, { status: "Enabled" });
    // That its machines delete no version is in tests/aws/policies.test.ts.

    const azure = await runStack("azure-dev", backup);
    const [policy] = [...ofType(azure, "azure-native:storage:ManagementPolicy").values()];
    assert.match(
      JSON.stringify(policy?.inputs),
      /"daysAfterModificationGreaterThan":90.*"daysAfterCreationGreaterThan":180/,
    );
    const service = resource(
      azure,
      "azure-native:storage:BlobServiceProperties",
      "azure-dev-snapshots-versions",
    ).inputs;
    const kept = { enabled: true, days: 90 };
    const protection = [
      service.isVersioningEnabled,
      service.deleteRetentionPolicy,
      service.containerDeleteRetentionPolicy,
    ];
    assert.deepEqual(protection, [true, kept, kept]);
    const role = resource(azure, "azure-native:authorization:RoleAssignment", "azure-dev-snapshots-write").inputs;
    // Storage Blob Data Contributor: it has no right to delete a version, which the owner's role has.
    assert.match(JSON.stringify(role), /ba92f5b4-2d11-453d-a403-e96b0029c9fe/);
    assert.match(JSON.stringify(role.scope), /containers/);
  });

  it("and all that machines and clouds read from buckets have versions, and the one lifecycle of the bucket is ours", async () => {
    const identity = { access: { serviceAccountKeys: ["rsa-1"], workloadIdentity: {} } };
    const aws = await runStack("aws-dev", identity);
    const azure = await runStack("azure-dev", identity);
    for (const [stores, kept, key, count] of [
      [ofType(aws, "aws:s3/bucket:Bucket"), ["BucketVersioning", "BucketLifecycleConfiguration"], "bucket", 3],
      [
        ofType(azure, "azure-native:storage:StorageAccount"),
        ["BlobServiceProperties", "ManagementPolicy"],
        "accountName",
        2,
      ],
    ] as const) {
      assert.equal(stores.size, count);
      const { resources } = (key === "bucket" ? aws : azure).program;
      for (const { id, outputs } of stores.values())
        for (const kind of kept) {
          const own = resources.filter(
            ({ type, inputs }) => type.endsWith(`:${kind}`) && [id, outputs.name].includes(textOf(inputs[key])),
          );
          assert.equal(own.length, 1, `${kind} of ${id}`);
        }
    }
  });
});
