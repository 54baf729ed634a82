import { AutoscaleSetting } from "@pulumi/azure-native/monitor/autoscaleSetting.js";
import type * as pulumi from "@pulumi/pulumi";
import { groupName, groupSize, type PoolSpec } from "../model/pools.ts";
import { inResourceGroup, type ResourceGroupContext } from "./resourceGroup.ts";

/**
 * Whether a pool's number of machines must be kept: Azure takes one off the number of a scale set with each spot machine that it evicts and
 * deletes, and nothing adds it again (poseidon/typhoon#1567).
 */
export function isCountKept({ spot, autoscale }: PoolSpec): boolean {
  return spot && autoscale === undefined;
}

/** What `keptCount` is made from. */
interface KeptCountArgs {
  readonly resourceGroup: ResourceGroupContext;
  readonly cluster: string;
  readonly pool: PoolSpec;
  readonly groupId: pulumi.Input<string>;
}

/**
 * A setting of Azure Monitor that brings a scale set back to its number, as the documentation says for sets that delete evicted machines
 * ("Azure Spot Virtual Machines for Virtual Machine Scale Sets", eviction policy). `spotRestorePolicy` gives up after two hours at most
 * (hashicorp/terraform-provider-azurerm: spot_restore), and a pool that lacked capacity for longer would stay small.
 */
export function keptCount(name: string, args: KeptCountArgs, opts: pulumi.CustomResourceOptions): AutoscaleSetting {
  const { resourceGroup, cluster, pool, groupId } = args;
  const { minSize, desiredCapacity, maxSize } = groupSize(pool);
  const capacity = { minimum: String(minSize), maximum: String(maxSize), default: String(desiredCapacity) };
  return new AutoscaleSetting(
    name,
    {
      ...inResourceGroup(resourceGroup),
      autoscaleSettingName: groupName(cluster, pool.name),
      // Azure's default is false.
      enabled: true,
      targetResourceUri: groupId,
      profiles: [{ name: "count", capacity, rules: [] }],
    },
    opts,
  );
}
