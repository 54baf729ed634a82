import { BucketObjectv2 } from "@pulumi/aws/s3/bucketObjectv2.js";
import * as pulumi from "@pulumi/pulumi";
import type { ScriptsObject } from "../machine/bundle.ts";
import { privateBucket } from "./snapshots.ts";

export interface ScriptsArgs {
  /** Objects of the bucket; those with the same key are one object. */
  readonly objects: readonly ScriptsObject[];
}

export interface MachineScripts {
  readonly bucketName: pulumi.Input<string>;
  readonly bucketArn: pulumi.Input<string>;
  readonly object: ScriptsObject;
}

/**
 * Bucket with the scripts that do not fit into AWS's 16,384 bytes of user data. It holds no secret; the user data names
 * the object and its SHA-256, and a machine fetches it by its role.
 */
export class Scripts extends pulumi.ComponentResource {
  /** What must exist before a machine fetches from it. */
  readonly ready: readonly pulumi.Resource[];

  readonly #bucketName: pulumi.Output<string>;
  readonly #bucketArn: pulumi.Output<string>;

  constructor(name: string, args: ScriptsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("fenestra:aws:Scripts", name, {}, opts);
    const bucket = privateBucket(name, { forceDestroy: true }, this);
    const unique = new Map(args.objects.map((object) => [object.key, object]));
    this.ready = [...unique.values()].map(
      ({ key, content, sha256 }) =>
        new BucketObjectv2(
          // The digest is part of the name: changed content is a new object, created before the old one is deleted.
          `${name}-object-${sha256.slice(0, 12)}`,
          {
            bucket: bucket.id,
            key,
            content,
            contentType: "application/json",
            // An object takes ten tags (Amazon S3 User Guide, "Categorizing your objects using tags"), a stack may have
            // more.
            overrideProvider: { defaultTags: { tags: {} } },
          },
          // A group keeps starting machines from its old template while its refresh runs, long after the update: they
          // still fetch the old object. It is deleted with the bucket; it must not expire, because an object's age does
          // not show whether it is in use.
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
