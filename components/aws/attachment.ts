import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";

/**
 * What a pool needs of its cluster's resources on AWS: the inputs of `Pool`, and under the same names the stack output
 * `attachment`, by which another program attaches a pool. Nothing of it is secret.
 */
export interface Attachment {
  /** Account of the cluster, which the rights of the machines name. */
  readonly accountId: pulumi.Input<string>;
  /** Key of the pools' join secrets. */
  readonly joinKeyArn: pulumi.Input<string>;
  /** Private subnet of each zone, by the zone's name. */
  readonly subnetIds: Readonly<Record<string, pulumi.Input<string>>>;
  readonly workersGroupId: pulumi.Input<string>;
  /** Host of the API for nodes. Machines read it from the join secret; a changed host still replaces them. */
  readonly apiHost: pulumi.Input<string>;
}

/** The output `attachment` of a cluster on AWS as another program reads it: known in its preview already. */
export const attachmentOutput = z.object({
  accountId: z.string(),
  joinKeyArn: z.string(),
  subnetIds: z.record(z.string(), z.string()),
  workersGroupId: z.string(),
  apiHost: z.string(),
}) satisfies z.ZodType<Attachment>;
