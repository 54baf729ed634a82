import { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketPolicy } from "@pulumi/aws/s3/bucketPolicy.js";
import { BucketPublicAccessBlock } from "@pulumi/aws/s3/bucketPublicAccessBlock.js";
import { BucketServerSideEncryptionConfiguration } from "@pulumi/aws/s3/bucketServerSideEncryptionConfiguration.js";
import type * as pulumi from "@pulumi/pulumi";
import { policy } from "./policyDocument.ts";

/** Settings of `privateBucket`. */
export interface PrivateBucketOptions {
  /** Whether destroying the stack also removes what is in it. */
  readonly forceDestroy: boolean;
  /** Refuse to delete the bucket. Default `false`. */
  readonly protect?: boolean;
}

/** An S3 bucket that is encrypted, closed to the public and reached by HTTPS only. The children are named `${name}-bucket` and so on. */
export function privateBucket(name: string, { forceDestroy, protect = false }: PrivateBucketOptions, parent: pulumi.Resource): Bucket {
  const bucket = new Bucket(`${name}-bucket`, { forceDestroy, tags: { Name: `${name}-bucket` } }, { parent, protect });
  new BucketServerSideEncryptionConfiguration(
    `${name}-encryption`,
    { bucket: bucket.id, rules: [{ applyServerSideEncryptionByDefault: { sseAlgorithm: "AES256" } }] },
    { parent },
  );
  const block = new BucketPublicAccessBlock(
    `${name}-private`,
    { bucket: bucket.id, blockPublicAcls: true, blockPublicPolicy: true, ignorePublicAcls: true, restrictPublicBuckets: true },
    { parent },
  );
  new BucketPolicy(
    `${name}-https`,
    {
      bucket: bucket.id,
      policy: bucket.arn.apply((arn) =>
        JSON.stringify(
          policy({
            Sid: "HttpsOnly",
            Effect: "Deny",
            Principal: "*",
            Action: ["s3:*"],
            Resource: [arn, `${arn}/*`],
            Condition: { Bool: { "aws:SecureTransport": "false" } },
          }),
        ),
      ),
    },
    // S3 refuses concurrent changes of a bucket's access.
    { parent, dependsOn: [block] },
  );
  return bucket;
}
