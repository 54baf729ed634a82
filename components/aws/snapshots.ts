import type { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketLifecycleConfiguration } from "@pulumi/aws/s3/bucketLifecycleConfiguration.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { privateBucket } from "./privateBucket.ts";

export interface SnapshotsArgs {
  readonly spec: Pick<ClusterSpec, "environment" | "controlPlane">;
}

/** Bucket for etcd snapshots: encrypted, private, HTTPS only, old ones expire. */
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
    this.#expire(name, bucket, controlPlane.backup.keepDays);
    this.registerOutputs({ bucketName: this.bucketName });
  }

  #expire(name: string, bucket: Bucket, days: number): void {
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
            abortIncompleteMultipartUpload: { daysAfterInitiation: 1 },
          },
        ],
      },
      { parent: this },
    );
  }
}
