import { addressCount, type Cidr, contains, overlaps, parseCidr } from "../../model/cidr.ts";
import { cloudFacts } from "../../model/cloudFacts/cloudFacts.ts";
import { childPath, type Problem, problem, refuse } from "../../model/problem.ts";
import type { Cloud, StackConfig } from "../schema.ts";
import { anyNetwork, type Rules, rule } from "./rule.ts";

type Existing = NonNullable<StackConfig["network"]["existing"]>;

type Role = "private" | "public" | "controlPlane";

const path = (...steps: readonly PropertyKey[]): string =>
  steps.reduce<string>(childPath, "config.fenestra:network.existing");

interface Entry {
  readonly zone: string;
  readonly role: Role;
  readonly id: string;
  readonly cidr: string;
  readonly at: (field: "id" | "cidr") => string;
}

function entries({ subnets }: Existing): readonly Entry[] {
  return Object.entries(subnets).flatMap(([zone, byRole]) =>
    (["private", "public", "controlPlane"] as const).flatMap((role): readonly Entry[] => {
      const subnet = byRole[role];
      return subnet === undefined ? [] : [{ zone, role, ...subnet, at: (field) => path("subnets", zone, role, field) }];
    }),
  );
}

function networkId(cloud: Cloud, { id }: Existing): readonly Problem[] {
  const { pattern, words } = cloudFacts[cloud].network.id;
  return pattern.test(id) ? [] : refuse(path("id"), id, "is not the id of a network", words);
}

function subnetIds(cloud: Cloud, { id: network }: Existing, all: readonly Entry[]): readonly Problem[] {
  const { isId, refusal } = cloudFacts[cloud].network.subnet;
  return all
    .filter(({ id }) => !isId(id, network))
    .map(({ at, id }) => ({ path: at("id"), value: id, ...refusal(network) }));
}

function zones(wanted: readonly string[], { subnets }: Existing): readonly Problem[] {
  const given = Object.keys(subnets);
  return [
    ...wanted
      .filter((zone) => !given.includes(zone))
      .map((zone) =>
        problem(
          path("subnets", zone),
          undefined,
          "is missing, although it is one of network.zones",
          "private and controlPlane, each with id and cidr",
        ),
      ),
    ...given
      .filter((zone) => !wanted.includes(zone))
      .map((zone) =>
        problem(path("subnets", zone), zone, "is not one of network.zones", `one of ${wanted.join(", ")}`),
      ),
  ];
}

/**
 * The control plane's fixed addresses end at .12, and AWS has no smaller subnet; the cloud controller's load balancers
 * need eight addresses.
 */
const longestPrefix: Readonly<Record<Role, number>> = { controlPlane: 28, private: 27, public: 27 };

function ranges(networks: readonly string[], all: readonly Entry[]): readonly Problem[] {
  const outer = networks.flatMap((text) => parseCidr(text) ?? []);
  const problems = all.flatMap(({ at, role, cidr: text }) => {
    const range = parseCidr(text);
    const problem = (message: string, allowed: string) => refuse(at("cidr"), text, message, allowed);
    if (range === undefined) return problem("is not a network", anyNetwork);
    if (range.prefix > longestPrefix[role])
      return problem("is too small a subnet", `a /${longestPrefix[role]} or a larger one`);
    // Wrong ranges of the network have their own rule.
    if (outer.length < networks.length || outer.some((network) => contains(network, range))) return [];
    return problem("is outside of the network", `a part of ${networks.join(", ")}`);
  });
  return [...problems, ...sharing(all)];
}

/** Different subnets have no common address, and one subnet has one range. */
function sharing(all: readonly Entry[]): readonly Problem[] {
  return all.flatMap((entry, index) =>
    all.slice(0, index).flatMap((other) => {
      const same = other.id.toLowerCase() === entry.id.toLowerCase();
      if (same && other.cidr !== entry.cidr)
        return refuse(
          entry.at("cidr"),
          entry.cidr,
          `differs from ${other.at("cidr")}, which is of the same subnet`,
          other.cidr,
        );
      const [a, b] = [parseCidr(entry.cidr), parseCidr(other.cidr)];
      if (same || a === undefined || b === undefined || !overlaps(a, b)) return [];
      return refuse(
        entry.at("cidr"),
        entry.cidr,
        `overlaps ${other.at("cidr")}, ${other.cidr}`,
        "ranges of different subnets without a common address",
      );
    }),
  );
}

/** Workers must never take a fixed address of the control plane. */
function oncePerUse(cloud: Cloud, all: readonly Entry[]): readonly Problem[] {
  const { sharedSubnet, subnetsSpanZones } = cloudFacts[cloud].network;
  return all.flatMap((entry, index) => {
    const other = all
      .slice(0, index)
      .find(
        ({ id, role }) => id.toLowerCase() === entry.id.toLowerCase() && (!subnetsSpanZones || role !== entry.role),
      );
    if (other === undefined) return [];
    return refuse(entry.at("id"), entry.id, `is named by ${other.at("id")} already`, sharedSubnet);
  });
}

function overlapping(range: Cidr, text: string): boolean {
  const other = parseCidr(text);
  return other !== undefined && overlaps(range, other);
}

/**
 * Addresses of the private subnets of an existing network, each counted once, less those that clouds, load balancers
 * and endpoints take.
 */
export function roomInSubnets({ subnets }: Existing): number {
  const workers = new Map(Object.values(subnets).map(({ private: subnet }) => [subnet.id.toLowerCase(), subnet.cidr]));
  return [...workers.values()].reduce(
    (sum, text) => sum + Math.max(0, addressCount(parseCidr(text)?.prefix ?? 32) - 10),
    0,
  );
}

export const existingNetworkRules: Rules = {
  shape: rule(
    ["cloud", "network.existing", "network.zones", "network.cidr"],
    ({ cloud, "network.existing": existing, "network.zones": wanted, "network.cidr": first }) => {
      if (existing === undefined) return [];
      const all = entries(existing);
      return [
        ...networkId(cloud, existing),
        ...subnetIds(cloud, existing, all),
        ...zones(wanted, existing),
        ...ranges([first, ...existing.moreCidrs], all),
        ...oncePerUse(cloud, all),
      ];
    },
  ),
  furtherRanges: rule(
    ["network.existing", "network.cidr", "kubernetes.podCidr", "kubernetes.serviceCidr"],
    (settings) => {
      const others: readonly (readonly [string, string])[] = [
        ["network.cidr", settings["network.cidr"]],
        ["kubernetes.podCidr", settings["kubernetes.podCidr"]],
        ["kubernetes.serviceCidr", settings["kubernetes.serviceCidr"]],
      ];
      const more = settings["network.existing"]?.moreCidrs ?? [];
      return more.flatMap((text, index) => {
        const at = path("moreCidrs", index);
        const range = parseCidr(text);
        if (range === undefined) return refuse(at, text, "is not a network", anyNetwork);
        const before = more
          .slice(0, index)
          .map((other, place) => [`network.existing.moreCidrs[${place}]`, other] as const);
        return [...others, ...before]
          .filter(([, other]) => overlapping(range, other))
          .map(([setting, other]) =>
            problem(at, text, `overlaps config.fenestra:${setting}, ${other}`, "networks without a common address"),
          );
      });
    },
  ),
  /** Settings that an existing network has itself. */
  beside: rule(
    ["network.existing", "network.nat", "network.dns"],
    ({ "network.existing": existing, "network.nat": nat, "network.dns": dns }) => {
      if (existing === undefined) return [];
      const key = "config.fenestra:network";
      return [
        ...(nat === "perZone"
          ? refuse(`${key}.nat`, nat, "makes NAT gateways, which an existing network has itself", "single or none")
          : []),
        ...(dns !== undefined
          ? refuse(`${key}.dns`, dns, "cannot be set in an existing network, whose own name servers hold", "nothing")
          : []),
      ];
    },
  ),
  publicSubnets: rule(
    ["cloud", "network.existing", "access.public"],
    ({ cloud, "network.existing": existing, "access.public": open }) =>
      Object.entries(existing?.subnets ?? {}).flatMap(([zone, { public: subnet }]) =>
        subnet !== undefined || open === undefined || !cloudFacts[cloud].network.publicSubnets
          ? []
          : refuse(
              path("subnets", zone, "public"),
              undefined,
              "is missing: access.public makes a public load balancer",
              "id and cidr of a public subnet",
            ),
      ),
  ),
  resourceGroups: rule(
    ["cloud", "accountId", "network.existing"],
    ({ cloud, accountId, "network.existing": existing }) => {
      if (existing === undefined) return [];
      const { id, resourceGroup } = existing;
      const { network } = cloudFacts[cloud];
      const subscription = network.accountOf(id);
      const at = path("resourceGroup");
      return [
        ...(resourceGroup !== undefined && resourceGroup.toLowerCase() === id.split("/")[4]?.toLowerCase()
          ? refuse(
              at,
              resourceGroup,
              "is the resource group of the network, which the cluster's controllers could change then",
              "a resource group of the cluster's own",
            )
          : []),
        ...(resourceGroup !== undefined && !/^[\w.()-]{0,89}[\w()-]$/.test(resourceGroup)
          ? refuse(at, resourceGroup, "is not the name of a resource group", "up to 90 letters, digits and _ ( ) - .")
          : []),
        // Network interfaces are in the subscription of their network (Azure documentation, network interfaces).
        ...(accountId !== undefined &&
        network.id.pattern.test(id) &&
        subscription !== undefined &&
        accountId !== subscription.toLowerCase()
          ? refuse(path("id"), id, "is in another subscription than accountId", `a virtual network of ${accountId}`)
          : []),
      ];
    },
  ),
};
