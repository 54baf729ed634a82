import type { PoolRoll } from "../gates/poolGate.ts";
import { allocatable } from "../model/allocatable.ts";
import { cloudFacts } from "../model/cloudFacts/cloudFacts.ts";
import type { ClusterIdentity, NodeSettings } from "../model/nodeSettings.ts";
import { groupName, groupSize, type PoolSpec, rollPercents } from "../model/pools.ts";
import { joinSeconds } from "../model/timings.ts";
import { resourceGroupName } from "./network.ts";
import { healthyAfter } from "./poolExtensions.ts";

/**
 * Prefix of the computer names in a pool, to which Azure adds six characters. The cloud controller finds a node's scale set by it, so it
 * must be unique in a resource group, as pool names are.
 */
export function computerNamePrefix(pool: PoolSpec): string {
  return pool.name;
}

/** Smallest batch of a rolling upgrade, in percent (Azure REST API, RollingUpgradePolicy). */
const leastBatch = 5;

/** Machines that are replaced at a time, in percent of the group. */
export function rollingBatch(pool: PoolSpec): number {
  return Math.max(leastBatch, rollPercents(pool).surge);
}

/** Shortest time limit of an update, in minutes: that of a set which only grows. */
const leastUpdate = 120;

/**
 * Time limit of a scale set's update in minutes. Azure answers when the last batch is done, and azure-native gives up earlier by default. A
 * batch takes as long as its machines may take to join, and the replaced ones to drain and be deleted.
 */
export function updateMinutes(pool: PoolSpec): number {
  const most = Math.max(1, groupSize(pool).maxSize);
  const batches = Math.ceil(most / Math.max(1, Math.floor((most * rollingBatch(pool)) / 100)));
  const goneAfter = 5;
  const batch = (joinSeconds[pool.os] + cloudFacts.azure.timings.termination[pool.os]) / 60 + healthyAfter + goneAfter;
  return Math.max(leastUpdate, batches * batch);
}

/** How the pool's machines are replaced, and the commands that show it. */
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
        // A machine that is given a new disk keeps its identity, and nobody gives it another certificate.
        `--delete-emptydir-data; az vmss delete-instances ${set} --instance-ids ID, and then az vmss scale ${set} --new-capacity ${groupSize(pool).desiredCapacity}`,
        ids.length === 0 ? "" : `(${ids.join(", ")})`,
      ]
        .join(" ")
        .trim();
    },
  };
}

/**
 * Which instance of its scale set a node is: the last six characters of its name, in base 36 (kubernetes-sigs/cloud-provider-azure,
 * pkg/provider/azure_vmss.go: getScaleSetVMInstanceID). Its provider id would say so too, but any node may write anything there.
 */
function instanceOf(node: string, pool: PoolSpec): string | undefined {
  const digits = node.startsWith(computerNamePrefix(pool)) ? node.slice(computerNamePrefix(pool).length) : "";
  return /^[0-9a-z]{6}$/.test(digits) ? `${node} is ${Number.parseInt(digits, 36)}` : undefined;
}

/** What the tags of a scale set tell of its cluster. */
type GroupSettings = ClusterIdentity & Pick<NodeSettings, "kubernetes">;

/** Tags of a scale set: those of the cluster, and the hints that describe the set and a future node to the autoscaler. */
export function groupTags(spec: GroupSettings, pool: PoolSpec): Readonly<Record<string, string>> {
  return { ...spec.tags, ...autoscalerHints(spec, pool) };
}

const autoscalerPrefix = "k8s.io_cluster-autoscaler_node-template";

/** A label's or taint's key as a tag may carry it: `_` stands for `/` and `~2` for `_` (kubernetes/autoscaler: azure_template.go). */
export function hintKey(key: string): string {
  return key.replaceAll("_", "~2").replaceAll("/", "_");
}

/**
 * Discovery tags and node templates of the cluster autoscaler (kubernetes/autoscaler: cluster-autoscaler/cloudprovider/azure/README.md).
 * The resources are given, because the autoscaler otherwise assumes the full capacity from its own list of sizes, which lacks newer sizes.
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
      Object.entries({ ...ownLabels, ...kubeletLabels }).map(([key, value]) => [`${autoscalerPrefix}_label_${hintKey(key)}`, value]),
    ),
    ...Object.fromEntries(taints.map(({ key, value, effect }) => [`${autoscalerPrefix}_taint_${hintKey(key)}`, `${value}:${effect}`])),
    ...Object.fromEntries(
      Object.entries({ ...allocatable(pool), ...(pods === undefined ? {} : { pods: String(pods) }) }).map(([key, value]) => [
        `${autoscalerPrefix}_resources_${key}`,
        value,
      ]),
    ),
  };
}
