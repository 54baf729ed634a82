import { AutoscaleSetting } from "@pulumi/azure-native/monitor/autoscaleSetting.js";
import type * as inputs from "@pulumi/azure-native/types/input.js";
import type * as pulumi from "@pulumi/pulumi";
import type { PoolRoll } from "../gates/poolGate.ts";
import { windowsExtensionCommand } from "../machine/windows/userData.ts";
import { allocatable } from "../model/allocatable.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { ClusterIdentity, NodeSettings } from "../model/nodeSettings.ts";
import { groupName, groupSize, type PoolSpec, rollPercents } from "../model/pools.ts";
import { ports } from "../model/ports.ts";
import { joinSeconds } from "../model/timings.ts";
import { resourceGroupName } from "./network.ts";
import { inResourceGroup, type ResourceGroupContext } from "./roles.ts";

type Extension = inputs.compute.VirtualMachineScaleSetExtensionArgs;

/**
 * Looks until a machine's health counts, and seconds between them: minutes, since an unhealthy machine stops a roll.
 */
const looks = { numberOfProbes: 3, intervalInSeconds: 60 } as const;

/** Minutes until a joined machine is healthy. */
const healthyAfter = (looks.numberOfProbes * looks.intervalInSeconds) / 60;

/**
 * Health check of a machine: its own port, open while its node is Ready. By the kubelet's, open within a second of its
 * start, a roll would delete working machines for others that never join. The extension's version 2.0 has a grace
 * period for a joining machine. By HTTP it expects its own answer format (Azure documentation, application health
 * extension).
 */
function health({ os }: PoolSpec): Extension {
  return {
    name: "health",
    publisher: "Microsoft.ManagedServices",
    type: os === "windows" ? "ApplicationHealthWindows" : "ApplicationHealthLinux",
    typeHandlerVersion: "2.0",
    autoUpgradeMinorVersion: true,
    settings: { protocol: "tcp", port: ports.joined, ...looks, gracePeriod: joinSeconds[os] },
  };
}

/**
 * Starts the bootstrap of a Windows machine, whose custom data does not run by itself. The command is the same for all
 * pools and holds no secret; a protected setting, it is not in the portal either.
 */
function bootstrap(): Extension {
  return {
    name: "bootstrap",
    publisher: "Microsoft.Compute",
    type: "CustomScriptExtension",
    typeHandlerVersion: "1.10",
    autoUpgradeMinorVersion: true,
    protectedSettings: { commandToExecute: windowsExtensionCommand() },
  };
}

export function poolExtensions(pool: PoolSpec): readonly Extension[] {
  return pool.os === "windows" ? [bootstrap(), health(pool)] : [health(pool)];
}

/**
 * Prefix of a pool's computer names, to which Azure adds six characters. By it the cloud controller finds a node's
 * scale set, so it must be unique in a resource group, as pool names are.
 */
export function computerNamePrefix(pool: PoolSpec): string {
  return pool.name;
}

/** Smallest batch of a roll, in percent (Azure REST API, RollingUpgradePolicy). */
const leastBatch = 5;

/** Machines replaced at a time, in percent of the group. */
export function rollingBatch(pool: PoolSpec): number {
  return Math.max(leastBatch, rollPercents(pool).surge);
}

/** Shortest time limit of an update in minutes, for a set that only grows. */
const leastUpdate = 120;

/**
 * Time limit of a scale set's update in minutes. Azure answers after the last batch, for which azure-native's default
 * is too short. A batch takes as long as its machines may take to join, and the replaced ones to drain and be deleted.
 */
export function updateMinutes(pool: PoolSpec): number {
  const most = Math.max(1, groupSize(pool).maxSize);
  const batches = Math.ceil(most / Math.max(1, Math.floor((most * rollingBatch(pool)) / 100)));
  const goneAfter = 5;
  const batch = (joinSeconds[pool.os] + cloudFacts.azure.timings.termination[pool.os]) / 60 + healthyAfter + goneAfter;
  return Math.max(leastUpdate, batches * batch);
}

export function poolRoll(spec: ClusterIdentity & Pick<NodeSettings, "network">, pool: PoolSpec): PoolRoll {
  const group = groupName(spec.name, pool.name);
  const set = `--resource-group ${resourceGroupName(spec)} --name ${group}`;
  return {
    group,
    drainSeconds: cloudFacts.azure.timings.termination[pool.os],
    // A spot set is not rolled, see `upgradePolicy`.
    replaces: !pool.spot,
    joinHelp: [
      `Is there a machine: az vmss list-instances ${set} --output table;`,
      `its last stage: az vmss get-instance-view ${set} --instance-id '*' --query "[].extensions[].substatuses[?contains(code, 'fenestra')].message[]"`,
    ].join(" "),
    oldHelp: (nodes) => {
      const ids = nodes.flatMap(({ name }) => instanceOf(name, pool) ?? []);
      return [
        `Progress of the roll: az vmss rolling-upgrade get-latest ${set}; one that stopped is repeated by: az vmss update ${set}.`,
        "Azure updates machines in place, with their old custom data, when the quota has no room for one more: raise it for",
        `${pool.size.name} in ${spec.region}, then for one node after the other: kubectl drain NODE --ignore-daemonsets`,
        // A machine with a new disk keeps its identity, and gets no other certificate.
        `--delete-emptydir-data; az vmss delete-instances ${set} --instance-ids ID, and then az vmss scale ${set} --new-capacity ${groupSize(pool).desiredCapacity}`,
        ids.length === 0 ? "" : `(${ids.join(", ")})`,
      ]
        .join(" ")
        .trim();
    },
  };
}

/**
 * A node's instance in its scale set: its name's last six characters, in base 36 (kubernetes-sigs/cloud-provider-azure,
 * pkg/provider/azure_vmss.go: getScaleSetVMInstanceID). Its provider id says so too, but any node may write anything
 * there.
 */
function instanceOf(node: string, pool: PoolSpec): string | undefined {
  const digits = node.startsWith(computerNamePrefix(pool)) ? node.slice(computerNamePrefix(pool).length) : "";
  return /^[0-9a-z]{6}$/.test(digits) ? `${node} is ${Number.parseInt(digits, 36)}` : undefined;
}

type GroupSettings = ClusterIdentity & Pick<NodeSettings, "kubernetes">;

/**
 * The cluster's tags, the mark that machines join by their pool's secret alone, and hints that describe the set and a
 * future node to the autoscaler.
 */
export function groupTags(spec: GroupSettings, pool: PoolSpec): Readonly<Record<string, string>> {
  return { ...spec.tags, "fenestra:join": "pool", ...autoscalerHints(spec, pool) };
}

const autoscalerPrefix = "k8s.io_cluster-autoscaler_node-template";

/**
 * A label's or taint's key in a tag: `_` stands for `/` and `~2` for `_` (kubernetes/autoscaler: azure_template.go).
 */
export function hintKey(key: string): string {
  return key.replaceAll("_", "~2").replaceAll("/", "_");
}

/**
 * The cluster autoscaler's discovery tags and node templates (kubernetes/autoscaler:
 * cluster-autoscaler/cloudprovider/azure/README.md). Without hints of resources the autoscaler assumes the full
 * capacity from its own list of sizes; for a size that is not in the list it reads no hints.
 */
function autoscalerHints(spec: GroupSettings, pool: PoolSpec): Readonly<Record<string, string>> {
  if (pool.autoscale === undefined) return {};
  const { kubeletLabels, ownLabels, taints } = pool.scheduling;
  const { minSize, maxSize } = groupSize(pool);
  // The autoscaler assumes 110.
  const pods = spec.kubernetes.podsPerNode;
  return {
    "cluster-autoscaler-enabled": "true",
    "cluster-autoscaler-name": spec.name,
    min: String(minSize),
    max: String(maxSize),
    ...Object.fromEntries(
      Object.entries({ ...ownLabels, ...kubeletLabels }).map(([key, value]) => [
        `${autoscalerPrefix}_label_${hintKey(key)}`,
        value,
      ]),
    ),
    ...Object.fromEntries(
      taints.map(({ key, value, effect }) => [`${autoscalerPrefix}_taint_${hintKey(key)}`, `${value}:${effect}`]),
    ),
    ...Object.fromEntries(
      Object.entries({ ...allocatable(pool), ...(pods !== undefined && { pods: String(pods) }) }).map(
        ([key, value]) => [`${autoscalerPrefix}_resources_${key}`, value],
      ),
    ),
  };
}

/** How a scale set's machines are bought: spot, whose end comes without notice. */
export function purchase({
  spot,
  os,
}: PoolSpec): Pick<
  inputs.compute.VirtualMachineScaleSetVMProfileArgs,
  "priority" | "evictionPolicy" | "billingProfile" | "scheduledEventsProfile"
> {
  return spot
    ? { priority: "Spot", evictionPolicy: "Delete", billingProfile: { maxPrice: -1 } }
    : {
        priority: "Regular",
        scheduledEventsProfile: {
          terminateNotificationProfile: {
            enable: true,
            notBeforeTimeout: `PT${cloudFacts.azure.timings.termination[os] / 60}M`,
          },
        },
      };
}

/**
 * Whether a pool's number of machines must be kept: Azure lowers a scale set's number with each evicted and deleted
 * spot machine, and nothing raises it again (poseidon/typhoon#1567).
 */
export function isCountKept({ spot, autoscale }: PoolSpec): boolean {
  return spot && autoscale === undefined;
}

interface KeptCountArgs {
  readonly resourceGroup: ResourceGroupContext;
  readonly cluster: string;
  readonly pool: PoolSpec;
  readonly groupId: pulumi.Input<string>;
}

/**
 * A setting of Azure Monitor that restores a scale set's number, as documented for sets that delete evicted machines
 * ("Azure Spot Virtual Machines for Virtual Machine Scale Sets", eviction policy). `spotRestorePolicy` gives up after
 * two hours at most (hashicorp/terraform-provider-azurerm: spot_restore): after a longer lack of capacity a pool would
 * stay small.
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
