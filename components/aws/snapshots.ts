import type { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketLifecycleConfiguration } from "@pulumi/aws/s3/bucketLifecycleConfiguration.js";
import { BucketVersioning } from "@pulumi/aws/s3/bucketVersioning.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { privateBucket } from "./privateBucket.ts";

export interface SnapshotsArgs {
  readonly spec: Pick<ClusterSpec, "environment" | "controlPlane">;
}

/**
 * Bucket for etcd snapshots: encrypted, private, HTTPS only, old ones expire. What a machine writes over stays for as long again, since it
 * may not delete a version.
 */
export class Snapshots extends pulumi.ComponentResource {
  readonly bucketName: pulumi.Output<string>;
  readonly bucketArn: pulumi.Output<string>;

  constructor(name: string, args: SnapshotsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Snapshots", name, {}, opts);
    const { environment, controlPlane } = args.spec;
    const production = environment === "production";
    // In production a bucket with snapshots in it stops the destruction of the stack: they may be the last copy.
    const bucket = privateBucket(name, { forceDestroy: !production, protect: production }, this);
    this.bucketName = bucket.bucket;
    this.bucketArn = bucket.arn;
    const versions = new BucketVersioning(
      `${name}-versions`,
      { bucket: bucket.id, versioningConfiguration: { status: "Enabled" } },
      { parent: this },
    );
    this.#expire(name, bucket, controlPlane.backup.keepDays, versions);
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
          // The mark that stands for an expired one; a rule with days cannot ask for it.
          { id: "marks", status: "Enabled", filter: {}, expiration: { expiredObjectDeleteMarker: true } },
        ],
      },
      { parent: this, dependsOn: [versions] },
    );
  }
}
