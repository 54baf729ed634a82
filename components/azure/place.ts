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

/**
 * The inputs of a resource of Azure's DNS, which is in no region. Of names of tags it keeps letters, digits and underscores that do not begin
 * with a digit, and drops the others without a word (Azure documentation, tag resources, "Limitations"; Azure/azure-rest-api-specs#11748).
 */
export function placedInDns({ group, tags }: Place) {
  const names = Object.entries(tags).map(([name, value]) => [name.replaceAll(/^(?=\d)|[^A-Za-z0-9_]/g, "_"), value]);
  return { resourceGroupName: group, location: "global", tags: Object.fromEntries(names) };
}

/** The inputs that every tagged resource of a cluster has. */
export function placed({ group, location, tags }: Place) {
  return { resourceGroupName: group, location, tags: { ...tags } };
}
