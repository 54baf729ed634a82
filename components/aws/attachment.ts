import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";

/**
 * What a pool needs of its cluster on AWS: the inputs of `Pool`, and under the same names the stack output
 * `attachment`, by which another program attaches a pool. Nothing is secret.
 */
export interface Attachment {
  /** The cluster's account, which the machines' rights name. */
  readonly accountId: pulumi.Input<string>;
  /** Key of the pools' join secrets. */
  readonly joinKeyArn: pulumi.Input<string>;
  /** Private subnets by zone. */
  readonly subnetIds: Readonly<Record<string, pulumi.Input<string>>>;
  readonly workersGroupId: pulumi.Input<string>;
  /** API host for nodes. Machines read it from the join secret; a changed one still replaces them. */
  readonly apiHost: pulumi.Input<string>;
}

/** The output `attachment` as another program reads it, known in its preview. */
export const attachmentOutput = z.object({
  accountId: z.string(),
  joinKeyArn: z.string(),
  subnetIds: z.record(z.string(), z.string()),
  workersGroupId: z.string(),
  apiHost: z.string(),
}) satisfies z.ZodType<Attachment>;
