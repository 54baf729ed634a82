import type * as pulumi from "@pulumi/pulumi";

export interface ResourceGroupContext {
  readonly name: pulumi.Input<string>;
  readonly subscriptionId: pulumi.Input<string>;
  /** Region: `westeurope`. */
  readonly location: string;
  /** For every resource: azure-native has no default tags, unlike AWS's provider. */
  readonly tags: Readonly<Record<string, string>>;
}

export interface ClusterResourceGroup extends ResourceGroupContext {
  readonly id: pulumi.Output<string>;
}

/**
 * Inputs of Azure's DNS, which is in no region. Of tag names it keeps letters, digits and underscores that do not begin
 * with a digit, and silently drops the others (Azure documentation, tag resources, "Limitations";
 * Azure/azure-rest-api-specs#11748).
 */
export function inDns({ name, tags }: ResourceGroupContext) {
  const names = Object.entries(tags).map(([tag, value]) => [tag.replaceAll(/^(?=\d)|[^A-Za-z0-9_]/g, "_"), value]);
  return { resourceGroupName: name, location: "global", tags: Object.fromEntries(names) };
}

export function inResourceGroup({ name, location, tags }: ResourceGroupContext) {
  return { resourceGroupName: name, location, tags: { ...tags } };
}
