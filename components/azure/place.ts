import type * as pulumi from "@pulumi/pulumi";

/** Where the resources of a cluster lie. */
export interface Place {
  /** Name of the resource group. */
  readonly group: pulumi.Input<string>;
  /** Resource id of the group. */
  readonly groupId: pulumi.Output<string>;
  readonly subscriptionId: pulumi.Output<string>;
  /** Region: `westeurope`. */
  readonly location: string;
  /** Tags of every resource: azure-native has no default tags as the provider of AWS has. */
  readonly tags: Readonly<Record<string, string>>;
}

/** The inputs that every tagged resource of a cluster has. */
export function placed({ group, location, tags }: Place) {
  return { resourceGroupName: group, location, tags: { ...tags } };
}
