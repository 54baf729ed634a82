import { Bucket } from "@pulumi/aws/s3/bucket.js";
import { BucketObjectv2 } from "@pulumi/aws/s3/bucketObjectv2.js";
import { BucketPolicy } from "@pulumi/aws/s3/bucketPolicy.js";
import { BucketPublicAccessBlock } from "@pulumi/aws/s3/bucketPublicAccessBlock.js";
import * as pulumi from "@pulumi/pulumi";
import type { ClusterSpec } from "../model/clusterSpec.ts";
import { discoveryDocument, discoveryPath, keySet, keySetPath } from "../model/serviceAccountKeys.ts";
import { sampleObjectName, sampleObjectText } from "../model/workloadIdentity.ts";
import { type PolicyDocument, policy } from "./policyDocument.ts";

export interface IssuerArgs {
  readonly spec: Pick<ClusterSpec, "environment">;
  /** Public keys of service accounts, PEM. */
  readonly publicKeys: pulumi.Input<readonly string[]>;
  /** Whether there is an object for the sample, which is not public. */
  readonly sample: boolean;
}

/**
 * The two documents by which a cloud checks tokens of service accounts, in a bucket in which everybody may read these two. Whoever can
 * write them can be any service account.
 */
export class Issuer extends pulumi.ComponentResource {
  /** URL of the issuer: claim `iss` of the tokens. */
  readonly url: pulumi.Output<string>;
  /** What must exist before a cloud checks a token. */
  readonly ready: readonly pulumi.Resource[];
  readonly sample: { readonly arn: pulumi.Output<string>; readonly url: pulumi.Output<string> } | undefined;

  readonly #name: string;

  constructor(name: string, args: IssuerArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Issuer", name, {}, opts);
    this.#name = name;
    const bucket = new Bucket(
      `${name}-bucket`,
      { tags: { Name: `${name}-bucket` } },
      { parent: this, protect: args.spec.environment === "production" },
    );
    this.url = pulumi.interpolate`https://${bucket.bucketRegionalDomainName}`;
    const readers = this.#publish(bucket);
    const keys = pulumi.output(args.publicKeys);
    const discovery = pulumi.all([this.url, keys]).apply(([url, known]) => discoveryDocument(url, known));
    this.ready = [
      readers,
      this.#put(bucket, "discovery", discoveryPath, discovery),
      this.#put(bucket, "keys", keySetPath, keys.apply(keySet)),
    ];
    if (args.sample) {
      this.#put(bucket, "sample", sampleObjectName, pulumi.output(sampleObjectText), "text/plain");
      this.sample = {
        arn: pulumi.interpolate`${bucket.arn}/${sampleObjectName}`,
        url: pulumi.interpolate`${this.url}/${sampleObjectName}`,
      };
    }
    this.registerOutputs({ url: this.url });
  }

  /** S3 refuses a public policy while the bucket blocks such, which new buckets do. */
  #publish(bucket: Bucket): pulumi.Resource {
    const block = new BucketPublicAccessBlock(
      `${this.#name}-public`,
      { bucket: bucket.id, blockPublicAcls: true, ignorePublicAcls: true, blockPublicPolicy: false, restrictPublicBuckets: false },
      { parent: this },
    );
    return new BucketPolicy(
      `${this.#name}-readers`,
      { bucket: bucket.id, policy: bucket.arn.apply((arn) => JSON.stringify(issuerPolicy(arn))) },
      { parent: this, dependsOn: [block] },
    );
  }

  #put(bucket: Bucket, role: string, key: string, content: pulumi.Output<string>, contentType = "application/json"): BucketObjectv2 {
    return new BucketObjectv2(
      `${this.#name}-${role}`,
      // An object takes ten tags (Amazon S3 User Guide, "Categorizing your objects using tags"), a stack may have more.
      { bucket: bucket.id, key, content, contentType, overrideProvider: { defaultTags: { tags: {} } } },
      { parent: this },
    );
  }
}

/** Everybody reads the two documents, by HTTPS, and nothing else. */
function issuerPolicy(bucketArn: string): PolicyDocument {
  return policy(
    {
      Sid: "ReadDocuments",
      Effect: "Allow",
      Principal: "*",
      Action: ["s3:GetObject"],
      Resource: [`${bucketArn}/${discoveryPath}`, `${bucketArn}/${keySetPath}`],
    },
    {
      Sid: "HttpsOnly",
      Effect: "Deny",
      Principal: "*",
      Action: ["s3:*"],
      Resource: [bucketArn, `${bucketArn}/*`],
      Condition: { Bool: { "aws:SecureTransport": "false" } },
    },
  );
}
