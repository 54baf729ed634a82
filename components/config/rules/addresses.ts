import { largestNetwork } from "../../model/addressPlan.ts";
import { addressCount, type Cidr, cidr, overlaps, parseCidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { poolGroups } from "../../model/pools.ts";
import { type Problem, problem, refuse } from "../../model/problem.ts";
import type { StackConfig } from "../schema.ts";
import { roomInSubnets } from "./existingNetwork.ts";
import { whereNodesHaveRanges } from "./podNetworks.ts";
import { key, type Rule, type Rules, rule } from "./rule.ts";

/** Ranges that no network of a cluster overlaps, and from which nobody calls. */
export const reservedRanges = [
  { range: "0.0.0.0/8", reason: "addresses that mean this host" },
  { range: "127.0.0.0/8", reason: "the loopback range" },
  { range: "168.63.129.16/32", reason: "Azure's platform address" },
  { range: "169.254.0.0/16", reason: "the link-local range of metadata services" },
  { range: "224.0.0.0/3", reason: "multicast and reserved addresses" },
] as const;

/** A network of the config: its setting, and the shortest and longest prefix in bits. */
interface NetworkField {
  readonly setting: "network.cidr" | "kubernetes.podCidr" | "kubernetes.serviceCidr";
  readonly least: number;
  /** `cloud`: the limit of the cloud. */
  readonly most: number | "cloud";
}

const machines: NetworkField = { setting: "network.cidr", least: largestNetwork, most: "cloud" };

/** The first range of an existing network is not divided; its subnets have their own rules. */
const existingMachines: NetworkField = { setting: "network.cidr", least: 8, most: 28 };

/**
 * Each node takes a /24; the controller manager splits a range by at most 16 bits (kubernetes/kubernetes,
 * node-cidr-mask-size).
 */
const pods: NetworkField = { setting: "kubernetes.podCidr", least: 8, most: 22 };

/** The API server takes at most 20 host bits (kubernetes/kubernetes, service-cluster-ip-range). */
const services: NetworkField = { setting: "kubernetes.serviceCidr", least: 12, most: 24 };

/** The network of a field if its size is allowed, else what is wrong with it. */
function sized(field: NetworkField, value: string, cloud: StackConfig["cloud"]): Cidr | Problem {
  const { setting, least, most: limit } = field;
  const path = key(setting);
  const most = typeof limit === "number" ? limit : cloudFacts[cloud].network.smallest;
  const parsed = parseCidr(value);
  const allowed = `an IPv4 network whose host bits are zero, /${least} to /${most}`;
  if (parsed === undefined) return problem(path, value, notANetwork(value), allowed);
  if (parsed.prefix >= least && parsed.prefix <= most) return parsed;
  return problem(path, value, `is too ${parsed.prefix < least ? "large" : "small"} a network`, allowed);
}

function fieldOf(field: NetworkField, existing: StackConfig["network"]["existing"]): NetworkField {
  return existing !== undefined && field === machines ? existingMachines : field;
}

/** Distinguishes a network with host bits set from text that is no network at all. */
export function notANetwork(value: string): string {
  const [address, prefix] = value.split("/");
  const parts = (address ?? "").split(".").map(Number);
  return parts.every((part) => part <= 255) && Number(prefix) <= 32
    ? "has host bits that are not zero"
    : "is not a network";
}

const isNetwork = (found: Cidr | Problem): found is Cidr => "prefix" in found;

const oneNetwork = (own: NetworkField): Rule =>
  rule(["cloud", own.setting, "network.existing"], (settings) => {
    const value = settings[own.setting];
    const found = sized(fieldOf(own, settings["network.existing"]), value, settings.cloud);
    if (!isNetwork(found)) return [found];
    return reservedRanges
      .filter(({ range }) => overlaps(found, cidr(range)))
      .map(({ range, reason }) =>
        problem(
          key(own.setting),
          value,
          `overlaps ${range}, ${reason}`,
          "a range that touches no reserved one, such as a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16",
        ),
      );
  });

const disjoint = (a: NetworkField, b: NetworkField): Rule =>
  rule(["cloud", a.setting, b.setting, "network.existing"], (settings) => {
    const [first, second] = [a, b].map((field) =>
      sized(fieldOf(field, settings["network.existing"]), settings[field.setting], settings.cloud),
    );
    if (first === undefined || second === undefined) return [];
    if (!isNetwork(first) || !isNetwork(second) || !overlaps(first, second)) return [];
    return refuse(
      key(b.setting),
      settings[b.setting],
      `overlaps ${key(a.setting)}, ${settings[a.setting]}`,
      "three networks without a common address",
      "move one of the two",
    );
  });

/** Most machines of the pools at once, with one more per group while it rolls. */
function mostMachines(pools: StackConfig["pools"], zones: readonly string[]): number {
  return pools
    .map((pool) => {
      const groups = pool.perZone ? poolGroups(pool, zones).length : 1;
      const wanted = pool.autoscale === undefined ? (pool.count ?? 1) : pool.autoscale.max * groups;
      return wanted === 0 ? 0 : wanted + groups;
    })
    .reduce((sum, most) => sum + most, 0);
}

/** A network of the wrong size is reported by its own rule only. */
function tooFew(
  field: NetworkField,
  value: string,
  cloud: StackConfig["cloud"],
  wanted: number,
  capacity: (prefix: number) => number,
): readonly Problem[] {
  const network = sized(field, value, cloud);
  if (!isNetwork(network) || wanted <= capacity(network.prefix)) return [];
  return refuse(
    key(field.setting),
    value,
    `has room for ${capacity(network.prefix)} machines, but the pools may grow to ${wanted}`,
    "a range with room for every machine, control plane and one more per group for replacements included",
    "choose a larger range, or lower count or autoscale.max",
  );
}

export const addressRules: Rules = {
  ofMachines: oneNetwork(machines),
  ofPods: whereNodesHaveRanges(oneNetwork(pods)),
  ofServices: oneNetwork(services),
  machinesAndPods: whereNodesHaveRanges(disjoint(machines, pods)),
  machinesAndServices: disjoint(machines, services),
  podsAndServices: whereNodesHaveRanges(disjoint(pods, services)),
  /**
   * Every node takes a /24 of the pod range and every machine an address of a private subnet. When either runs out,
   * nodes come up without a pod network or not at all.
   */
  roomForPods: whereNodesHaveRanges(
    rule(["cloud", "kubernetes.podCidr", "controlPlane.replicas", "pools", "network.zones"], (settings) =>
      tooFew(
        pods,
        settings["kubernetes.podCidr"],
        settings.cloud,
        mostMachines(settings.pools, settings["network.zones"]) + settings["controlPlane.replicas"],
        (prefix) => 2 ** (24 - prefix),
      ),
    ),
  ),
  /** A private subnet is a quarter of the network; the clouds, load balancers and endpoints take some addresses. */
  roomForMachines: rule(["cloud", "network.cidr", "network.existing", "network.zones", "pools"], (settings) => {
    const zones = settings["network.zones"];
    const existing = settings["network.existing"];
    const wanted = mostMachines(settings.pools, zones);
    if (existing !== undefined) {
      const room = roomInSubnets(existing);
      return wanted <= room
        ? []
        : refuse(
            key("network.existing.subnets"),
            room,
            `has room for ${room} machines in private subnets, but the pools may grow to ${wanted}`,
            "subnets with room for every machine, and one more per group for replacements",
            "name larger subnets, or lower count or autoscale.max",
          );
    }
    return tooFew(
      machines,
      settings["network.cidr"],
      settings.cloud,
      wanted,
      (prefix) => zones.length * (addressCount(prefix + 2) - 30),
    );
  }),
};
