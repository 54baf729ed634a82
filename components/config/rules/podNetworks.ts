import { addressPlan } from "../../model/addressPlan.ts";
import {
  addressCount,
  type Cidr,
  cidr,
  contains,
  controlPlaneAddresses,
  defaultPodNetwork,
  defaultPodsPerNode,
  type PodNetworkName,
  parseCidr,
  podAddressing,
} from "../../model/cidr.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import type { PoolConfig } from "../schema.ts";
import { hasSettings, poolRule, type Rule, type Rules, rule, type Settings } from "./rule.ts";

const azureCni = podAddressing["azure-cni"];

const unsetAzureCni = { podsPerNode: defaultPodsPerNode };

const path = (...fields: readonly string[]): string => fields.reduce<string>(childPath, "config.fenestra:network");

const unsetRange = "10.244.0.0/16";

interface Subnet {
  readonly path: string;
  readonly value: string;
  readonly range: Cidr;
  readonly zones: readonly string[];
}

/**
 * The subnets of a role, each once, though zones of an existing network share it. Other rules report what is missing or
 * wrong.
 */
function subnetsOf(
  role: "private" | "controlPlane",
  given: Pick<Settings, "network.cidr" | "network.existing" | "network.zones">,
): readonly Subnet[] {
  const { "network.cidr": value, "network.existing": existing, "network.zones": zones } = given;
  if (existing === undefined) {
    if ((parseCidr(value)?.prefix ?? 32) > leastNetwork) return [];
    const plan = addressPlan(value, zones, azureCni.controlPlane.prefix);
    return plan.zones.map((ranges) => ({ path: path("cidr"), value, range: cidr(ranges[role]), zones: [ranges.zone] }));
  }
  const named = zones.flatMap((zone) => {
    const subnet = existing.subnets[zone]?.[role];
    const range = parseCidr(subnet?.cidr ?? "");
    return subnet === undefined || range === undefined ? [] : [{ zone, range, ...subnet }];
  });
  return [...Map.groupBy(named, ({ id }) => id.toLowerCase()).values()].flatMap((same) =>
    same
      .slice(0, 1)
      .map((first) => ({
        path: path("existing", "subnets", first.zone, role, "cidr"),
        value: first.cidr,
        range: first.range,
        zones: same.map(({ zone }) => zone),
      })),
  );
}

/**
 * Addresses that one application security group holds, a fixed limit (Azure documentation,
 * azure-virtual-network-limits). Those of all workers are in one, which the cluster's rules name.
 */
const mostOfGroup = 4000;

/** Prefix of the smallest network whose control-plane part of a zone is a /26. */
const leastNetwork = 20;

/** Addresses of a subnet that no machine gets: Azure's five, and some for Services' internal load balancers. */
const kept = 5 + 20;

/** Most machines of a pool in a zone's subnet, a roll included. */
function machinesIn(pool: PoolConfig, zone: string, all: readonly string[]): number {
  const zones = pool.zones ?? all;
  const here = pool.perZone ? zones.includes(zone) : zones[0] === zone;
  const most = pool.autoscale?.max ?? (pool.perZone ? Math.ceil((pool.count ?? 1) / zones.length) : (pool.count ?? 1));
  if (!here || most === 0) return 0;
  const surge = pool.update?.maxSurge ?? "10%";
  return most + Math.max(1, typeof surge === "number" ? surge : Math.ceil((most * Number.parseInt(surge, 10)) / 100));
}

function ranged(pods: PodNetworkName | undefined): boolean {
  return podAddressing[pods ?? defaultPodNetwork].nodeRanges;
}

/** A rule that holds only where nodes have ranges of the pods' network. */
export function whereNodesHaveRanges(one: Rule): Rule {
  return (given, lock) =>
    hasSettings(given.settings, ["network.pods"]) && !ranged(given.settings["network.pods"]) ? [] : one(given, lock);
}

/** A rule that holds only where pods have addresses of Azure's interfaces. */
function onAzureCni<K extends keyof Settings>(
  reads: readonly K[],
  check: (given: Pick<Settings, K>) => readonly Problem[],
): Rule {
  const own = rule(reads, check);
  return (given, lock) =>
    hasSettings(given.settings, ["network.pods"]) && given.settings["network.pods"] === "azure-cni"
      ? own(given, lock)
      : [];
}

export const podNetworkRules: Rules = {
  /**
   * Scripts, kube-proxy and HNS know one range of pods: traffic to it keeps a pod's address, and metadata services are
   * closed to it. A pod outside of it would reach them.
   */
  inFirstRange: onAzureCni(["network.existing", "network.cidr", "network.zones"], (given) => {
    const whole = parseCidr(given["network.cidr"]);
    if (given["network.existing"] === undefined || whole === undefined) return [];
    return [...subnetsOf("private", given), ...subnetsOf("controlPlane", given)]
      .filter(({ range }) => !contains(whole, range))
      .map(({ path: at, value }) =>
        problem(
          at,
          value,
          "is outside of network.cidr, the one range in which pods have addresses",
          `a part of ${given["network.cidr"]} with network.pods: azure-cni`,
          "name the range of these subnets as network.cidr, and the network's others in existing.moreCidrs",
        ),
      );
  }),
  settings: rule(["network.pods", "network.azureCni"], ({ "network.pods": pods, "network.azureCni": own }) =>
    pods === "azure-cni" || own === undefined
      ? []
      : refuse(
          path("azureCni"),
          own,
          "is read with network.pods: azure-cni only",
          "nothing with another pod network",
          "set network.pods: azure-cni, or leave it out",
        ),
  ),
  policies: rule(["network.pods", "network.policies"], ({ "network.pods": pods, "network.policies": wanted }) =>
    ranged(pods) || wanted === undefined || wanted === "none"
      ? []
      : refuse(
          path("policies"),
          wanted,
          `is not there with network.pods: ${pods}`,
          "none",
          "leave it out, and keep tenants in clusters of their own",
        ),
  ),
  ownRange: rule(["network.pods", "kubernetes.podCidr"], (given) =>
    ranged(given["network.pods"]) || given["kubernetes.podCidr"] === unsetRange
      ? []
      : refuse(
          "config.fenestra:kubernetes.podCidr",
          given["kubernetes.podCidr"],
          `is not used with network.pods: ${given["network.pods"]}, where pods have addresses of network.cidr`,
          "no value",
          "leave it out",
        ),
  ),
  /** In a created network control-plane subnets have a fixed size, for which a small network has no room. */
  leastRange: onAzureCni(["network.cidr", "network.existing"], (given) =>
    given["network.existing"] !== undefined || (parseCidr(given["network.cidr"])?.prefix ?? 0) <= leastNetwork
      ? []
      : refuse(
          path("cidr"),
          given["network.cidr"],
          "leaves the pods of control-plane machines too few addresses",
          `a /16 to /${leastNetwork} with network.pods: azure-cni`,
        ),
  ),
  /**
   * Machines and pods of a pool are in the subnet of its first zone, and every machine has all its addresses from the
   * start.
   */
  roomForPods: onAzureCni(
    ["network.cidr", "network.zones", "network.existing", "network.azureCni", "pools"],
    (given) => {
      const { podsPerNode } = given["network.azureCni"] ?? unsetAzureCni;
      return subnetsOf("private", given).flatMap((subnet) => {
        const room = addressCount(subnet.range.prefix) - kept;
        const machines = subnet.zones.flatMap((zone) =>
          given.pools.map((pool) => machinesIn(pool, zone, given["network.zones"])),
        );
        const wanted = machines.reduce((sum, most) => sum + most, 0) * (1 + podsPerNode);
        return wanted <= room
          ? []
          : refuse(
              subnet.path,
              subnet.value,
              `has room for ${room} addresses in the subnet of zone ${subnet.zones.join(" and ")}, but machines and pods may take ${wanted}`,
              "1 + azureCni.podsPerNode addresses for each machine of the pools whose first zone it is, those that a roll adds included",
              "choose a larger range, fewer pods per node, perZone pools, or lower count or autoscale.max",
            );
      });
    },
  ),
  roomInGroup: onAzureCni(
    ["network.zones", "network.azureCni", "pools"],
    ({ "network.zones": zones, "network.azureCni": own = unsetAzureCni, pools }) => {
      const machines = pools
        .flatMap((pool) => zones.map((zone) => machinesIn(pool, zone, zones)))
        .reduce((sum, most) => sum + most, 0);
      const [wanted, most] = [machines * (1 + own.podsPerNode), Math.floor(mostOfGroup / (1 + own.podsPerNode))];
      return wanted <= mostOfGroup
        ? []
        : refuse(
            "config.fenestra:pools",
            machines,
            `may be so many machines at once, which take ${wanted} addresses: a security group of Azure holds ${mostOfGroup}`,
            `at most ${most} machines with ${own.podsPerNode} pods each, those that a roll adds included`,
            "lower count, autoscale.max, update.maxSurge or azureCni.podsPerNode, or choose network.pods: flannel for a new cluster",
          );
    },
  ),
  roomForControlPlane: onAzureCni(
    ["network.cidr", "network.zones", "network.existing", "controlPlane.replicas"],
    (given) => {
      const { "network.zones": zones, "controlPlane.replicas": replicas } = given;
      return subnetsOf("controlPlane", given).flatMap((subnet) => {
        const placed = Array.from({ length: replicas }, (_, index) => zones[index % zones.length] ?? "");
        const machines = placed.filter((zone) => subnet.zones.includes(zone)).length;
        const wanted = controlPlaneAddresses(azureCni, machines);
        if (wanted <= addressCount(subnet.range.prefix)) return [];
        return given["network.existing"] === undefined
          ? refuse(
              "config.fenestra:controlPlane.replicas",
              replicas,
              `puts ${machines} control-plane machines into zone ${subnet.zones.join()}, whose subnet has addresses for the pods of three`,
              "at most three per zone with network.pods: azure-cni",
              "name more zones",
            )
          : refuse(
              subnet.path,
              subnet.value,
              `is too small for ${machines} control-plane machines and their pods, which take the first ${wanted} addresses`,
              `a /${32 - Math.ceil(Math.log2(wanted))} or a larger one with network.pods: azure-cni`,
              "name a larger subnet",
            );
      });
    },
  ),
  /** More pods than addresses would wait for one for ever. */
  podsHaveAddresses: poolRule(
    ["kubelet"],
    ["network.pods", "network.azureCni"],
    ({ kubelet }, at, { "network.pods": pods, "network.azureCni": own = unsetAzureCni }) =>
      pods !== "azure-cni" || (kubelet?.maxPods ?? 0) <= own.podsPerNode
        ? []
        : refuse(
            `${at}.kubelet.maxPods`,
            kubelet?.maxPods,
            `is more than network.azureCni.podsPerNode, ${own.podsPerNode}, the addresses that a machine has for pods`,
            `at most ${own.podsPerNode}`,
            "raise podsPerNode, or leave it out",
          ),
  ),
};
