import type * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import type { MachineGroup } from "./security.ts";

/**
 * What a pool needs of its cluster on Azure: the inputs of `Pool`, and under the same names the stack output
 * `attachment`, by which another program attaches a pool. Nothing is secret.
 */
export interface Attachment extends MachineGroup {
  readonly subscriptionId: pulumi.Input<string>;
  /** Name of the cluster's resource group, in which its pools lie as well: the controllers' rights end there. */
  readonly resourceGroup: pulumi.Input<string>;
  /** Private subnets by zone. */
  readonly subnetIds: Readonly<Record<string, pulumi.Input<string>>>;
  /** Vault with the pools' join secrets. */
  readonly joinVaultName: pulumi.Input<string>;
  /** Resource id of the secret with logins, if any. */
  readonly credentialsId?: pulumi.Input<string>;
  /** Object id of the control plane's identity, whose controllers change scale sets. */
  readonly controllerId: pulumi.Input<string>;
  /** Public half of the key that Azure requires on every Linux machine. */
  readonly sshKey: pulumi.Input<string>;
  /**
   * Resource id of the identity that reads gMSA accounts' secrets; only pools with the plug-in have it beside their
   * own.
   */
  readonly gmsaIdentityId?: pulumi.Input<string>;
}

/** The output `attachment` as another program reads it, known in its preview. */
export const attachmentOutput = z.object({
  subscriptionId: z.string(),
  resourceGroup: z.string(),
  subnetIds: z.record(z.string(), z.string()),
  securityGroupId: z.string(),
  applicationGroupId: z.string(),
  joinVaultName: z.string(),
  credentialsId: z.string().exactOptional(),
  controllerId: z.string(),
  sshKey: z.string(),
  gmsaIdentityId: z.string().exactOptional(),
}) satisfies z.ZodType<Attachment>;
