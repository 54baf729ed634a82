import { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketLifecycleConfiguration } from "@pulumi/aws/s3/bucketLifecycleConfiguration.js";
import { BucketPolicy } from "@pulumi/aws/s3/bucketPolicy.js";
import { BucketPublicAccessBlock } from "@pulumi/aws/s3/bucketPublicAccessBlock.js";
import { BucketServerSideEncryptionConfiguration } from "@pulumi/aws/s3/bucketServerSideEncryptionConfiguration.js";
import { BucketVersioning } from "@pulumi/aws/s3/bucketVersioning.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { httpsOnly, policy } from "./policyDocument.ts";

interface PrivateBucketOptions {
  /** Whether destroying the stack removes its content. */
  readonly forceDestroy: boolean;
  /** Default `false`. */
  readonly protect?: boolean;
}

/**
 * An S3 bucket, encrypted, closed to the public and reached by HTTPS only. Its children are named `${name}-bucket` and
 * so on.
 */
export function privateBucket(
  name: string,
  { forceDestroy, protect = false }: PrivateBucketOptions,
  parent: pulumi.Resource,
): Bucket {
  const bucket = new Bucket(`${name}-bucket`, { forceDestroy, tags: { Name: `${name}-bucket` } }, { parent, protect });
  new BucketServerSideEncryptionConfiguration(
    `${name}-encryption`,
    { bucket: bucket.id, rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }] },
    { parent },
  );
  const block = new BucketPublicAccessBlock(
    `${name}-private`,
    {
      bucket: bucket.id,
      blockPublicAcls: true,
      blockPublicPolicy: true,
      ignorePublicAcls: true,
      restrictPublicBuckets: true,
    },
    { parent },
  );
  new BucketPolicy(
    `${name}-https`,
    { bucket: bucket.id, policy: bucket.arn.apply((arn) => JSON.stringify(policy(httpsOnly(arn)))) },
    // S3 refuses concurrent changes of a bucket's access.
    { parent, dependsOn: [block] },
  );
  return bucket;
}

/**
 * An object takes ten tags (Amazon S3 User Guide, "Categorizing your objects using tags"), fewer than a stack may have.
 */
export const withoutTags = { overrideProvider: { defaultTags: { tags: {} } } };

function keepVersions(name: string, bucket: Bucket, parent: pulumi.Resource): pulumi.Resource {
  return new BucketVersioning(
    `${name}-versions`,
    { bucket: bucket.id, versioningConfiguration: { status: "Enabled" } },
    { parent },
  );
}

/**
 * Versions of a bucket's objects, and its one lifecycle, by which none expires. An organisation's rule can only take its
 * place, which a comparison with the cloud shows.
 */
export function keepContent(name: string, bucket: Bucket, parent: pulumi.Resource): void {
  const rule = { id: "versions", status: "Enabled", filter: {}, noncurrentVersionExpiration: { noncurrentDays: 90 } };
  new BucketLifecycleConfiguration(
    `${name}-keep`,
    { bucket: bucket.id, rules: [rule] },
    { parent, dependsOn: [keepVersions(name, bucket, parent)] },
  );
}

interface SnapshotsArgs {
  readonly spec: Pick<ClusterSpec, "environment" | "controlPlane">;
}

/**
 * Bucket for etcd snapshots: encrypted, private, HTTPS only, old ones expire. What a machine overwrites stays as long
 * again: it may not delete versions.
 */
export class Snapshots extends pulumi.ComponentResource {
  readonly bucketName: pulumi.Output<string>;
  readonly bucketArn: pulumi.Output<string>;

  constructor(name: string, args: SnapshotsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Snapshots", name, {}, opts);
    const { environment, controlPlane } = args.spec;
    const production = environment === "production";
    // In production snapshots stop the stack's destruction: they may be the last copy.
    const bucket = privateBucket(name, { forceDestroy: !production, protect: production }, this);
    this.bucketName = bucket.bucket;
    this.bucketArn = bucket.arn;
    this.#expire(name, bucket, controlPlane.backup.keepDays, keepVersions(name, bucket, this));
    this.registerOutputs({ bucketName: this.bucketName });
  }

  #expire(name: string, bucket: Bucket, days: number, versions: pulumi.Resource): void {
    new BucketLifecycleConfiguration(
      `${name}-expiry`,
      {
        bucket: bucket.id,
        rules: [
          {
            id: "expire",
            status: "Enabled",
            filter: {},
            expiration: { days },
            noncurrentVersionExpiration: { noncurrentDays: days },
            abortIncompleteMultipartUpload: { daysAfterInitiation: 1 },
          },
          // The expired one's mark, which a rule with days cannot name.
          { id: "marks", status: "Enabled", filter: {}, expiration: { expiredObjectDeleteMarker: true } },
        ],
      },
      { parent: this, dependsOn: [versions] },
    );
  }
}
