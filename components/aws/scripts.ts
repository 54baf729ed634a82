import { BucketObjectv2 } from "@pulumi/aws/s3/bucketObjectv2.js";
import * as pulumi from "@pulumi/pulumi";
import type { ScriptsObject } from "../machine/bundle.ts";
import { keepContent, privateBucket, withoutTags } from "./snapshots.ts";

interface ScriptsArgs {
  /** Those with the same key are one object. */
  readonly objects: readonly ScriptsObject[];
}

export interface MachineScripts {
  readonly bucketName: pulumi.Input<string>;
  readonly bucketArn: pulumi.Input<string>;
  readonly object: ScriptsObject;
}

/**
 * Bucket for scripts beyond AWS's 16,384 bytes of user data, which names the object and its SHA-256; a machine fetches
 * it by its role. It holds no secret.
 */
export class Scripts extends pulumi.ComponentResource {
  /** What must exist before a machine fetches from it. */
  readonly ready: readonly pulumi.Resource[];

  readonly #bucketName: pulumi.Output<string>;
  readonly #bucketArn: pulumi.Output<string>;

  constructor(name: string, args: ScriptsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Scripts", name, {}, opts);
    const bucket = privateBucket(name, { forceDestroy: true }, this);
    keepContent(name, bucket, this);
    const unique = new Map(args.objects.map((object) => [object.key, object]));
    this.ready = [...unique.values()].map(
      ({ key, content, sha256 }) =>
        new BucketObjectv2(
          // With the digest in the name, changed content is a new object, created before the old one is deleted.
          `${name}-object-${sha256.slice(0, 12)}`,
          { bucket: bucket.id, key, content, contentType: "application/json", ...withoutTags },
          // While a group's refresh runs, long after the update, machines of the old template still fetch the old
          // object. It goes with the bucket; it must not expire, because its age does not show whether it is in use.
          { parent: this, retainOnDelete: true },
        ),
    );
    this.#bucketName = bucket.bucket;
    this.#bucketArn = bucket.arn;
    this.registerOutputs({ bucketName: this.#bucketName });
  }

  of(object: ScriptsObject): MachineScripts {
    return { bucketName: this.#bucketName, bucketArn: this.#bucketArn, object };
  }
}
